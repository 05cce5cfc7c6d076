import FetchJobs
import Hummingbird

// Groups of jobs.

extension DashboardRoutes {
    /// How many groups a page has: the jobs of each are counted.
    private static let groupCount = 25

    var groupRoutes: [Route] {
        [
            page(.get, GroupPages.path, groups),
            page(.post, GroupPages.close, closeGroup),
        ]
    }

    private func groups(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let view = try await view(query, call, session)
        let after = try query["cursor"].map { try Cursor<JobGroup.Kind>($0, filter: "").after }
        let items = try await ports.groups.groups(of: view.tenant, after: after, limit: Self.groupCount + 1)
        let part = ListPart(items, limit: Self.groupCount)
        let next = part.next { view.href(GroupPages.path, ("cursor", Cursor(after: $0.id, filter: "").text)) }
        var shown: [(group: JobGroup, counts: [JobState: Int64])] = []
        for group in part.shown {
            shown.append((group, try await ports.groups.counts(of: group.id, tenant: view.tenant)))
        }
        var sheet = sheet("Groups", call, view, hint: GroupPages.hint)
        sheet.sections = [.init(table: GroupPages.table(shown, view: view, next: next, now: .now))]
        return page(.sheet, sheet)
    }

    private func closeGroup(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = JobGroup.ID(call.parameter), try await ports.groups.close(id, of: session.tenant) != nil else {
            throw Problem(.notFound, "There is no group with this id.")
        }
        return Self.redirect(to: GroupPages.path)
    }
}
