import FetchJobs
import Hummingbird

// The audit log of the tenant, for administrators.

extension DashboardRoutes {
    static let auditPath = "/dashboard/audit"

    var auditRoutes: [Route] { [page(.get, Self.auditPath, entries)] }

    private func entries(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try call.query(allowing: ["cursor"])
        let after = try query["cursor"].map { try Cursor<AuditEntry.IDKind>($0, filter: "").after }
        let items = try await audit.entries(
            matching: AuditFilter(chain: session.tenant), after: after, limit: Self.pageSize + 1)
        let shown = Array(items.prefix(Self.pageSize))
        let next = items.count > shown.count ? shown.last.map { Cursor(after: $0.id, filter: "") } : nil
        let content = AuditPage(
            shown, next: next.map { "\(Self.auditPath)?cursor=\($0.text)" }, frame: frame("Audit log", call, session),
            now: .now)
        return page(.audit, content)
    }
}
