import FetchJobs
import Hummingbird

// API keys: looking at them and revoking them.

extension DashboardRoutes {
    var keyRoutes: [Route] {
        [
            page(.get, KeyPages.path, apiKeys),
            page(.post, KeyPages.revoke, revokeKey),
        ]
    }

    private func apiKeys(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let isOfAll = query[Self.tenantParameter] == Self.allTenants
        let view = try await isOfAll ? allTenants(call, session) : view(query, call, session)
        let after = try query["cursor"].map { try Cursor<APIKey.Kind>($0, filter: "").after }
        let items = try await keys.keys(of: isOfAll ? nil : view.tenant, after: after, limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let tenant = isOfAll ? Self.allTenants : view.name
        let next = part.next { last in
            let cursor = Cursor(after: last.key.id, filter: "").text
            return DashboardView.address(KeyPages.path, [("cursor", cursor), ("tenant", tenant)])
        }
        var sheet = sheet("Keys", call, view, hint: KeyPages.hint)
        // Operators revoke the keys of every tenant, as the API lets them.
        sheet.notice = view.name.map { "You look at the tenant \(VisibleText.cut($0)) as an operator of the service." }
        choose(query, in: &sheet)
        sheet.sections = [
            .init(
                table: KeyPages.table(
                    part.shown, mayRevoke: session.may(.post, KeyPages.revoke), isOfAll: isOfAll, next: next, now: .now)
            )
        ]
        return page(.sheet, sheet)
    }

    private func revokeKey(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = APIKey.ID(call.parameter), try await keys.revoke(id, of: nil) else {
            throw Problem(.notFound, "There is no valid key with this id.")
        }
        return Self.redirect(to: KeyPages.path)
    }
}
