import FetchJobs
import Hummingbird

/// Pausing all jobs of a tenant.
struct QueueRoutes: Sendable {
    private static let path = "/v1/queue"

    let limiters: any LimiterStore

    var routes: [Route] {
        [
            Route(.get, Self.path, tenant: get),
            Route(.post, "\(Self.path)/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.post, "\(Self.path)/resume", tenant: { try await setPaused(false, $0, $1) }),
            Route(.post, "\(Self.path)/drain", tenant: drain),
        ]
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let queue = try await limiters.queue(of: tenant)
        return .json { queue.write(&$0) }
    }

    private func setPaused(_ isPaused: Bool, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        _ = try call.query()
        try await limiters.setPaused(isPaused, of: tenant)
        return try await get(call, tenant)
    }

    /// Pauses, and says by its status whether anything is left that runs.
    private func drain(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        var response = try await setPaused(true, call, tenant)
        if try await limiters.queue(of: tenant).running > 0 { response.status = .accepted }
        return response
    }
}
