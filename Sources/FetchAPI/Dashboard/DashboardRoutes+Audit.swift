import FetchJobs
import Hummingbird

// The audit log of a tenant, for administrators; that of all tenants and of the service, for its operators.

extension DashboardRoutes {
    var auditRoutes: [Route] { [page(.get, AuditPages.path, entries)] }

    private func entries(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "actor", "action", "object", "cursor")
        let isOfAll = query[Self.tenantParameter] == Self.allTenants
        let view = try await isOfAll ? allTenants(call, session) : view(query, call, session)
        let filter = try AuditFilter(query, chain: isOfAll ? nil : view.tenant)
        let word = Cursor<AuditEntry.IDKind>.digest(
            of: ["actor", "action", "object", "tenant"].map { query[$0].map { "\($0.utf8.count):\($0)" } ?? "-" }
                .joined()
        )
        let after = try query["cursor"].map { try Cursor<AuditEntry.IDKind>($0, filter: word).after }
        let items = try await audit.entries(matching: filter, after: after, limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let next = part.next { last in
            let filters = ["actor", "action", "object", "tenant"].map { (name: $0, value: query[$0]) }
            let cursor = [(name: "cursor", value: Optional(Cursor(after: last.id, filter: word).text))]
            return DashboardView.address(AuditPages.path, filters + cursor)
        }
        var sheet = sheet(
            "Audit log", call, view, hint: AuditPages.hint,
            fields: [
                .text("actor", "Who", query["actor"]), .text("action", "Action", query["action"], hint: "jobs.*"),
                .text("object", "Of what", query["object"]),
            ])
        choose(query, in: &sheet)
        sheet.sections = [.init(table: AuditPages.table(part.shown, isOfAll: isOfAll, next: next, now: .now))]
        return page(.sheet, sheet)
    }

    // MARK: All tenants

    /// Stands for all tenants where one can be named.
    static let allTenants = "*"

    /// The view of a list that has the things of all tenants; the page is for operators of the service.
    func allTenants(_ call: Call, _ session: DashboardSession) -> DashboardView {
        audit.note(AuditEvent(.readAsOperator, "\(call.request.uri.path) of all"))
        return DashboardView(session: session, tenant: session.tenant, name: nil)
    }

    /// Lets the form of a list choose all tenants too.
    func choose(_ query: Query, in sheet: inout SheetPage) {
        guard let index = sheet.search?.fields.firstIndex(where: { $0.name == Self.tenantParameter }) else { return }
        sheet.search?.fields[index] = .text(
            Self.tenantParameter, "Tenant", query[Self.tenantParameter], hint: "your own; * for all")
    }
}
