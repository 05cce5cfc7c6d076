import FetchJobs
import HTTPTypes
import Hummingbird

/// Taking, reading and removing snapshots of sessions.
struct SnapshotRoutes: Sendable {
    let snapshots: any SnapshotStore
    let sessions: any SessionStore

    var routes: [Route] {
        [
            Route(.post, "/v1/sessions/{id}/snapshots", tenant: take),
            Route(.get, "/v1/snapshots/{id}", tenant: get),
            Route(.delete, "/v1/snapshots/{id}", tenant: delete),
        ]
    }

    private func take(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = TenantSession.ID(call.parameter), let session = try await sessions.session(id, of: tenant)
        else { throw Problem(.notFound, "There is no session with this id that snapshots are taken of.") }
        guard session.spec.kind != .ephemeral else {
            throw Problem(.sessionHasNoSnapshot, "What an ephemeral session knows is not stored.")
        }
        switch try await snapshots.take(of: id, tenant: tenant) {
        case .created(let snapshot):
            var response = Response.json(status: .created, snapshot.write)
            response.headers[.location] = "/v1/snapshots/\(snapshot.id)"
            return response
        case .unknown: throw Problem(.notFound, "There is no session with this id.")
        case .tooManyLayers:
            throw Problem(
                .sessionHasNoSnapshot, "The session lies on 16 layers; make a new one from its last snapshot.")
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = SessionSnapshot.ID(call.parameter), let snapshot = try await snapshots.snapshot(id, of: tenant)
        else { throw Self.notFound }
        return .json(snapshot.write)
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = SessionSnapshot.ID(call.parameter), try await snapshots.remove(snapshot: id, of: tenant) else {
            throw Self.notFound
        }
        return Response(status: .noContent)
    }

    private static let notFound = Problem(.notFound, "There is no snapshot with this id.")
}
