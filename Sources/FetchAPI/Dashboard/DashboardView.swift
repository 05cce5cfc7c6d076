import FetchJobs
import HTTPTypes
import Hummingbird

/// Whose things a page shows: those of the visitor's tenant, or of one that he looks after as an operator.
struct DashboardView: Sendable {
    let session: DashboardSession
    let tenant: Tenant.ID
    /// Another tenant's name; nil for the visitor's own.
    let name: String?

    var isOwn: Bool { name == nil }

    /// The parameter that keeps links with the same tenant.
    var parameter: (name: String, value: String?) { ("tenant", name) }

    /// Whether the page shows a form; an operator reads what is another tenant's, and changes nothing of it.
    func may(_ path: String) -> Bool { isOwn && session.may(.post, path) }

    /// Whether the visitor may look at a page.
    func mayOpen(_ path: String) -> Bool { session.may(.get, path) }

    /// An address of the dashboard that shows the same tenant's things.
    func href(_ path: String, _ parameters: (name: String, value: String?)...) -> String {
        Self.address(path, parameters + [parameter])
    }

    /// The same of a list; nil for one that the visitor may not open.
    func list(_ path: String, _ parameters: (name: String, value: String?)...) -> String? {
        mayOpen(path) ? Self.address(path, parameters + [parameter]) : nil
    }

    /// The page of a job.
    func job(_ id: Job.ID) -> String { href("\(DashboardRoutes.jobsPath)/\(id)") }

    /// The list of the jobs that match the members of a filter.
    func jobs(_ filter: (name: String, value: String?)...) -> String {
        Self.address(DashboardRoutes.jobsPath, filter + [parameter])
    }

    static func address(_ path: String, _ parameters: [(name: String, value: String?)]) -> String {
        let query = Query.text(parameters).dropFirst()
        return query.isEmpty ? path : "\(path)?\(query)"
    }
}

extension DashboardRoutes {
    /// The parameter by which operators choose a tenant.
    static let tenantParameter = "tenant"

    /// The query of a page that shows the things of a tenant.
    func query(_ call: Call, _ names: String...) throws -> Query {
        try call.query(allowing: Set(names).union([Self.tenantParameter])).withoutEmpty
    }

    /// Whose things a page is to show; that an operator looks at another tenant's is in the audit log.
    ///
    /// - Throws: ``Problem`` `roleRequired` when somebody else names a tenant, and one that says that there is none.
    func view(_ query: Query, _ call: Call, _ session: DashboardSession) async throws -> DashboardView {
        guard let name = query[Self.tenantParameter] else {
            return DashboardView(session: session, tenant: session.tenant, name: nil)
        }
        guard session.signIn.role.scopes.contains(.admin) else {
            throw Problem(.roleRequired, "You are signed in as \(session.signIn.role.rawValue).")
        }
        guard let share = try await ports.tenants.tenant(named: name) else {
            throw Problem(.notFound, "There is no tenant of this name.")
        }
        guard share.tenant.id != session.tenant else {
            return DashboardView(session: session, tenant: session.tenant, name: nil)
        }
        audit.note(AuditEvent(.readAsOperator, "\(call.request.uri.path) of \(name)"))
        return DashboardView(session: session, tenant: share.tenant.id, name: name)
    }

    /// A page about the things of a tenant.
    ///
    /// - Parameter fields: What else the list can be asked for.
    func sheet(
        _ title: String, _ call: Call, _ view: DashboardView, hint: String? = nil, fields: [SheetPage.Field] = []
    ) -> SheetPage {
        var page = SheetPage(frame(title, call, view.session), hint: hint)
        page.notice = Self.notice(view)
        page.search = search(call, view, fields)
        return page
    }

    static func notice(_ view: DashboardView) -> String? {
        view.name.map {
            "You look at the tenant \(VisibleText.cut($0)) as an operator of the service. Nothing can be changed here."
        }
    }

    /// The form that asks for a part of a list and, for operators, for another tenant's.
    func search(_ call: Call, _ view: DashboardView, _ fields: [SheetPage.Field]) -> SheetPage.Search? {
        var fields = fields
        if view.session.signIn.role.scopes.contains(.admin) {
            fields.append(.text(Self.tenantParameter, "Tenant", view.name, hint: "your own"))
        }
        return fields.isEmpty ? nil : SheetPage.Search(path: call.request.uri.path, fields: fields)
    }

    /// The fields of a form, and what they mean.
    ///
    /// - Throws: ``Problem``, also for input that breaks a rule, so that the visitor is shown a page.
    func take<Value>(
        _ call: Call, _ session: DashboardSession, _ read: (Query) async throws -> Value
    ) async throws -> Value {
        do { return try await read(try await gate.form(of: call, in: session).withoutEmpty) } catch let error
            as InvalidInput
        { throw Problem(error) }
    }
}

/// The parts of the API's routes that forms of the dashboard act through.
struct DashboardActions: Sendable {
    /// Acts on many jobs, and exports them.
    let jobs: JobActionRoutes
    /// Checks and stores jobs.
    let submissions: JobRoutes
    let forecasts: ForecastRoute
    let events: EventsRoute
    let schedules: ScheduleRoutes
    let sessions: KnownSessions
    let credentials: KnownCredentials
    /// The settings of this node, without secrets.
    let settings: [ShownSetting]
    let version: String
}
