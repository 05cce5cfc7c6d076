import FetchJobs
import HTTPTypes
import Hummingbird

// Hosts and flows: their limits, the jobs that wait, and pausing them.

extension DashboardRoutes {
    /// Names are in the forms: a flow's key may be any text.
    func limiterRoutes(_ kind: Limiter.Kind) -> [Route] {
        let path = LimiterListPage.path(kind)
        return [
            page(.get, path) { try await limiters(kind, $0, $1) },
            page(.post, "\(path)/pause") { try await setPaused(true, kind, $0, $1) },
            page(.post, "\(path)/resume") { try await setPaused(false, kind, $0, $1) },
        ]
    }

    private func limiters(_ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession) async throws -> Response {
        let after = try call.query(allowing: ["cursor"])["cursor"].map { try LimiterCursor($0) }
        let items = try await limiters.limiters(
            of: session.tenant, kind, after: after?.key ?? "", limit: Self.pageSize + 1)
        let shown = Array(items.prefix(Self.pageSize))
        let next = items.count > shown.count ? shown.last.map { LimiterCursor(after: $0) } : nil
        let frame = frame(LimiterListPage.title(kind), call, session)
        let mayPause = session.may(.post, "\(LimiterListPage.path(kind))/pause")
        return page(
            .limiters, LimiterListPage(shown, of: kind, next: next, mayPause: mayPause, frame: frame, now: .now))
    }

    private func setPaused(
        _ isPaused: Bool, _ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession
    ) async throws -> Response {
        let form = try await gate.form(of: call, in: session)
        let name = try form["id"].map { try LimiterCursor($0).key } ?? form["name"]
        guard let name, let limiter = Limiter.Address(tenant: session.tenant, kind: kind, name: name) else {
            throw Problem(.notFound, kind == .host ? "That is no host." : "That is no key of a flow.")
        }
        try await limiters.setPaused(isPaused, limiter)
        return Self.redirect(to: LimiterListPage.path(kind))
    }
}
