import FetchJobs
import HTTPTypes
import Hummingbird

// Hosts and flows: what is set for them, what waits, and pausing them.

extension DashboardRoutes {
    /// Names are in the forms: a flow's key may be any text.
    func laneRoutes(_ kind: Lane.Kind) -> [Route] {
        let path = LaneListPage.path(kind)
        return [
            Route(.get, path, signedIn { try await lanes(kind, $0, $1) }),
            Route(.post, "\(path)/pause", signedIn { try await setPaused(true, kind, $0, $1) }),
            Route(.post, "\(path)/resume", signedIn { try await setPaused(false, kind, $0, $1) }),
        ]
    }

    private func lanes(_ kind: Lane.Kind, _ call: Call, _ session: DashboardSession) async throws -> Response {
        let after = try call.query(allowing: ["cursor"])["cursor"].map { try LaneCursor($0) }
        let found = try await lanes.lanes(of: session.tenant, kind, after: after?.key ?? "", limit: Self.pageSize + 1)
        let shown = Array(found.prefix(Self.pageSize))
        let next = found.count > shown.count ? shown.last.map { LaneCursor(after: $0) } : nil
        let frame = frame(LaneListPage.title(kind), session)
        return page(.lanes, LaneListPage(shown, of: kind, next: next, frame: frame, now: .now))
    }

    private func setPaused(
        _ isPaused: Bool, _ kind: Lane.Kind, _ call: Call, _ session: DashboardSession
    ) async throws -> Response {
        let form = try await gate.form(of: call, in: session)
        let name = try form["id"].map { try LaneCursor($0).key } ?? form["name"]
        guard let name, let lane = Lane.Address(tenant: session.tenant, kind: kind, name: name) else {
            throw Problem(.notFound, kind == .host ? "That is no host." : "That is no key of a flow.")
        }
        try await lanes.setPaused(isPaused, lane)
        return Self.redirect(to: LaneListPage.path(kind))
    }
}
