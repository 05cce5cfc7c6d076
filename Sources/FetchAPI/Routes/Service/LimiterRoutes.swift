import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Limits of hosts and of flows, and pausing them.
struct LimiterRoutes: Sendable {
    let limiters: any LimiterStore
    let kind: Limiter.Kind

    private var path: String { kind == .host ? "/v1/hosts" : "/v1/flows" }
    private var item: String { kind == .host ? "\(path)/{host}" : "\(path)/{key}" }

    var routes: [Route] {
        var routes = [
            Route(.get, path, tenant: list),
            Route(.get, item, tenant: get),
            Route(.put, item, tenant: set),
            Route(.delete, item, tenant: remove),
            Route(.post, "\(item)/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.post, "\(item)/resume", tenant: { try await setPaused(false, $0, $1) }),
            Route(.post, "\(item)/drain", tenant: drain),
        ]
        if kind == .flow { routes.append(Route(.post, "\(item)/skip", tenant: skip)) }
        return routes
    }

    // MARK: Reading

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try LimiterCursor($0) }
        let items = try await limiters.limiters(of: tenant, kind, after: after?.key ?? "", limit: limit + 1)
        return .page(items, limit: limit, of: path) {
            LimiterCursor(after: $0).text
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        return try await response(to: address(call, tenant))
    }

    private func response(to address: Limiter.Address) async throws -> Response {
        guard let limiter = try await limiters.limiter(address) else { throw notFound }
        return .json { limiter.write(&$0) }
    }

    // MARK: Changing

    private func set(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let address = try address(call, tenant)
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let limits = try SharedLimits(json: json, of: kind)
        let isNew = try await limiters.limiter(address) == nil
        try await limiters.set(limits, of: address)
        var response = try await response(to: address)
        if isNew { response.status = .created }
        return response
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard try await limiters.remove(address(call, tenant)) else { throw notFound }
        return Response(status: .noContent)
    }

    // MARK: Pausing

    private func open(_ call: Call, _ tenant: Tenant.ID) async throws -> Limiter.Address {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        return try address(call, tenant)
    }

    private func setPaused(_ isPaused: Bool, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let address = try await open(call, tenant)
        try await limiters.setPaused(isPaused, address)
        return try await response(to: address)
    }

    /// Pauses, and says by its status whether anything is left that runs.
    private func drain(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let address = try await open(call, tenant)
        try await limiters.setPaused(true, address)
        guard let limiter = try await limiters.limiter(address) else { throw notFound }
        return .json(status: limiter.running == 0 ? .ok : .accepted) { limiter.write(&$0) }
    }

    private func skip(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let address = try await open(call, tenant)
        guard try await limiters.limiter(address) != nil else { throw notFound }
        try await limiters.skip(address)
        return try await response(to: address)
    }

    // MARK: Names

    /// The limiter that a path names: a host as URLs write it, or a key.
    private func address(_ call: Call, _ tenant: Tenant.ID) throws -> Limiter.Address {
        guard let name = call.parameter.percentDecoded,
            let address = Limiter.Address(tenant: tenant, kind: kind, name: name)
        else { throw notFound }
        return address
    }

    private var notFound: Problem {
        Problem(.notFound, kind == .host ? "Nothing is set for this host." : "Nothing is set for this flow.")
    }
}
