import FetchJobs
import HTTPTypes
import Hummingbird

/// Making, closing and reading groups.
struct GroupRoutes: Sendable {
    private static let path = "/v1/groups"

    let groups: any GroupStore
    let known: KnownGroups
    let endpoints: KnownEndpoints

    var routes: [Route] {
        [
            Route(.post, Self.path, tenant: create),
            Route(.get, Self.path, tenant: list),
            Route(.get, "\(Self.path)/{id}", tenant: get),
            Route(.delete, "\(Self.path)/{id}", tenant: delete),
            Route(.post, "\(Self.path)/{id}/close", tenant: close),
        ]
    }

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, key) = try await call.submission(upTo: JobRoutes.maximumBody)
        var spec = try JobGroupSpec(json: json)
        try await endpoints.settle(&spec.webhook, of: tenant, by: try call.requireKey())
        let new = JobGroup(tenant: tenant, spec: spec)
        return try await groups.create(new, key?.idempotency(for: spec)).response(Self.created)
    }

    private static func created(_ group: JobGroup) -> Response {
        var response = Response.json(status: .created) { group.write(&$0) }
        response.headers[.location] = "\(path)/\(group.id)"
        return response
    }

    // MARK: Reading

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await .page(call, of: Self.path, id: \.id) {
            try await groups.groups(of: tenant, after: $0, limit: $1)
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        return try await response(to: try await group(call, tenant))
    }

    private func group(_ call: Call, _ tenant: Tenant.ID) async throws -> JobGroup {
        guard let id = JobGroup.ID(call.parameter), let group = try await groups.group(id, of: tenant) else {
            throw Self.notFound
        }
        return group
    }

    private func response(to group: JobGroup, status: HTTPResponse.Status = .ok) async throws -> Response {
        let counts = try await groups.counts(of: group.id, tenant: group.tenant)
        return .json(status: status) { group.write(&$0, counts: counts) }
    }

    // MARK: The end

    private func close(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = JobGroup.ID(call.parameter), let group = try await groups.close(id, of: tenant) else {
            throw Self.notFound
        }
        return try await response(to: group, status: group.state == .finished ? .ok : .accepted)
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let group = try await group(call, tenant)
        guard try await groups.remove(group.id, of: tenant) else {
            throw Problem(.groupNotFinished, "The group is \(group.state.rawValue).")
        }
        known.forget(group.id, of: tenant)
        return Response(status: .noContent)
    }

    private static let notFound = Problem(.notFound, "There is no group with this id.")
}
