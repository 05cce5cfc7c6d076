import FetchJobs
import Hummingbird

// Stored credentials.

extension DashboardRoutes {
    /// How many uses the page shows.
    private static let useCount = 15

    var credentialRoutes: [Route] {
        [
            page(.get, CredentialPages.path, credentials),
            page(.post, CredentialPages.remove, removeCredential),
        ]
    }

    private func credentials(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "session", "host", "cursor")
        let view = try await view(query, call, session)
        let host = query["host"]?.lowercased()
        let after = try query["cursor"].map { try Cursor<StoredCredential.IDKind>($0, filter: "").after }
        let address = try await actions.sessions.address(try query.session(), of: view.tenant)
        let all = try await ports.credentials.credentials(of: address)
            .filter { credential in host.map { credential.host == $0 } ?? true }
            .sorted { $0.id < $1.id }
            .filter { credential in after.map { credential.id > $0 } ?? true }
        let part = ListPart(all, limit: Self.pageSize)
        let next = part.next {
            view.href(
                CredentialPages.path, ("session", query["session"]), ("host", host),
                ("cursor", Cursor(after: $0.id, filter: "").text))
        }
        let uses = try await ports.credentials.uses(of: nil, tenant: view.tenant, after: nil, limit: Self.useCount)
        var sheet = sheet(
            "Credentials", call, view, hint: CredentialPages.hint,
            fields: [
                .text("session", "Session", query["session"], hint: "default"), .text("host", "Host", host),
            ])
        sheet.sections = [
            .init(table: CredentialPages.table(part.shown, view: view, next: next, now: .now)),
            CredentialPages.uses(uses, view: view, now: .now),
        ]
        return page(.sheet, sheet)
    }

    private func removeCredential(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = StoredCredential.ID(call.parameter),
            try await ports.credentials.remove(id, of: session.tenant)
        else { throw Problem(.notFound, "There is no credential with this id.") }
        actions.credentials.forget(id, of: session.tenant)
        return Self.redirect(to: CredentialPages.path)
    }
}
