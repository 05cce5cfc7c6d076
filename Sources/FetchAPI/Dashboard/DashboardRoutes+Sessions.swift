import FetchJobs
import Hummingbird

// Sessions, and what holds in one.

extension DashboardRoutes {
    var sessionRoutes: [Route] {
        [
            page(.get, SessionPages.path, sessions),
            page(.get, SessionPages.one, session),
            page(.post, SessionPages.invalidate, invalidateSession),
        ]
    }

    private func sessions(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "kind", "identifier", "cursor")
        let view = try await view(query, call, session)
        let filter = SessionFilter(kind: try query.oneOf("kind"), identifier: query["identifier"])
        let word = Cursor<TenantSession.Kind>.digest(
            of: Query.text([("kind", filter.kind?.rawValue), ("identifier", filter.identifier)]))
        let after = try query["cursor"].map { try Cursor<TenantSession.Kind>($0, filter: word).after }
        let now = Timestamp.now
        let part = try await ListPart.read(limit: Self.pageSize, after: after, id: \.id) {
            try await ports.sessions.sessions(
                of: view.tenant, matching: filter, page: SessionPage(limit: $1, after: $0))
        } form: {
            (SessionPages.row($0, view: view, now: now), bytes: 0)
        }
        let next = part.next {
            view.href(
                SessionPages.path, ("kind", filter.kind?.rawValue), ("identifier", filter.identifier),
                ("cursor", Cursor(after: $0.id, filter: word).text))
        }
        var rows = part.shown.map(\.form)
        if after == nil, filter == SessionFilter(), !part.shown.contains(where: { $0.id == .default }) {
            rows.insert(SessionPages.row(Self.standard(view.tenant), view: view, now: now), at: 0)
        }
        var sheet = sheet(
            "Sessions", call, view, hint: SessionPages.hint,
            fields: [
                .choice(
                    "kind", "Kind", SessionSpec.Kind.allCases.map(\.rawValue), chosen: filter.kind?.rawValue, all: "any"
                ),
                .text("identifier", "Identifier", filter.identifier),
            ])
        sheet.sections = [.init(table: SessionPages.table(rows, next: next))]
        return page(.sheet, sheet)
    }

    private func session(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(try query(call), call, session)
        let known = try await found(call, view.tenant)
        var sheet = sheet("Session \(known.id.name)", call, view)
        sheet.search = nil
        sheet.sections = SessionPages.sections(
            known, standard: ports.defaults(known.spec.kind), view: view, now: .now)
        return page(.sheet, sheet)
    }

    private func invalidateSession(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let mode = try await take(call, session) { try $0.oneOf("mode", Invalidation.self) ?? .finish }
        let known = try await found(call, session.tenant)
        guard known.id != .default else {
            throw Problem(.sessionNotInvalidated, "The default session cannot be invalidated.")
        }
        defer { actions.sessions.forget(known.id, of: session.tenant) }
        _ = try await ports.sessions.invalidate(known.id, of: session.tenant, mode)
        return Self.redirect(to: "\(SessionPages.path)/\(known.id)")
    }

    private func found(_ call: Call, _ tenant: Tenant.ID) async throws -> TenantSession {
        guard let id = TenantSession.ID(naming: call.parameter) else { throw Self.noSession }
        if let session = try await ports.sessions.session(id, of: tenant) { return session }
        guard id == .default else { throw Self.noSession }
        return Self.standard(tenant)
    }

    /// The session of every tenant that is there before anything is stored of it.
    private static func standard(_ tenant: Tenant.ID) -> TenantSession {
        TenantSession(id: .default, tenant: tenant, spec: SessionSpec(), createdAt: nil)
    }

    private static let noSession = Problem(.notFound, "There is no session with this id.")
}
