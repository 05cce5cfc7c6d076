import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Making, reading and ending sessions.
struct SessionRoutes: Sendable {
    let sessions: any SessionStore
    let snapshots: any SnapshotStore
    let known: KnownSessions
    let endpoints: KnownEndpoints
    let credentials: KnownCredentials
    let defaults: @Sendable (SessionSpec.Kind) -> Configuration

    var routes: [Route] {
        [
            Route(.post, "/v1/sessions", tenant: create),
            Route(.get, "/v1/sessions", tenant: list),
            Route(.get, "/v1/sessions/{id}", tenant: get),
            Route(.delete, "/v1/sessions/{id}", tenant: delete),
            Route(.post, "/v1/sessions/{id}/acknowledge", tenant: acknowledge),
            Route(.post, "/v1/sessions/{id}/invalidate", tenant: invalidate),
        ]
    }

    // MARK: Making

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, key) = try await call.submission(upTo: JobRoutes.maximumBody)
        var spec = try await KeyReading.shared.read(json, of: tenant, SessionSpec.init(json:))
        try await endpoints.settle(
            &spec.webhook, asking: spec.configuration.delegate, of: tenant, by: try call.requireKey())
        try await credentials.check(spec.configuration, of: tenant)
        try known.check(spec, of: tenant)
        let new = NewSession(
            tenant: tenant, spec: try await inheriting(spec, tenant), idempotency: key?.idempotency(for: spec))
        switch try await sessions.create(new) {
        case .made(let creation): return try creation.response(response(to:))
        case .identifierInUse:
            throw Problem(.sessionIdentifierInUse, "One live session has an identifier; nothing was made.")
        case .full(let room):
            throw Problem(.tooManySessions, "\(room.rule) Nothing was made.").retrying(after: 1)
        case .tooMany(let maximum):
            throw Problem(.tooManySessions, "A tenant may have \(maximum) sessions; nothing was made.")
                .limited(by: "sessions", quota: maximum, retryingAfter: 60)
        }
    }

    /// With the configuration of its snapshot's session, for members that it leaves out.
    private func inheriting(_ spec: SessionSpec, _ tenant: Tenant.ID) async throws -> SessionSpec {
        guard let id = spec.snapshot else { return spec }
        guard let snapshot = try await snapshots.snapshot(id, of: tenant) else {
            throw InvalidInput(pointer: "/snapshot", message: "is not a snapshot of yours")
        }
        var configuration = snapshot.configuration
        configuration.override(by: spec.configuration)
        var spec = spec
        spec.configuration = configuration
        // A background session follows redirects, even if it inherits another policy (BKG-5).
        if spec.kind == .background { spec.configuration.redirects.policy = nil }
        return spec
    }

    private func response(to session: TenantSession) -> Response {
        var response = Response.json(status: .created) { session.write(&$0) }
        response.headers[.location] = "/v1/sessions/\(session.id)"
        return response
    }

    // MARK: Reading

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let isExplained = try call.query(allowing: ["include"]).includes(EffectiveConfiguration.name)
        let session = try await session(call, tenant)
        return .json { writer in
            session.write(&writer)
            guard isExplained else { return }
            let effective = EffectiveConfiguration(
                session: session.spec.configuration, standard: defaults(session.spec.kind))
            writer.member(EffectiveConfiguration.name, object: effective.write)
        }
    }

    private func session(_ call: Call, _ tenant: Tenant.ID) async throws -> TenantSession {
        guard let id = Self.id(call) else { throw Self.notFound }
        if let session = try await sessions.session(id, of: tenant) { return session }
        guard id == .default else { throw Self.notFound }
        return TenantSession(id: id, tenant: tenant, spec: SessionSpec(), createdAt: nil)
    }

    /// The session that the path means, by its id or as `default`.
    private static func id(_ call: Call) -> TenantSession.ID? {
        call.parameter == "default" ? .default : TenantSession.ID(call.parameter)
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["kind", "identifier", "outstanding", "limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let filter = SessionFilter(
            kind: try query.oneOf("kind"), identifier: query["identifier"],
            isOutstanding: try query.bool("outstanding") ?? false)
        let after = try query["cursor"].map { try Cursor<TenantSession.Kind>($0, filter: filter.digest).after }
        return try await .page(
            of: "/v1/sessions", limit: limit, after: after, filters: filter.text, digest: filter.digest, id: \.id
        ) {
            try await sessions.sessions(of: tenant, matching: filter, page: SessionPage(limit: $1, after: $0))
        } write: {
            $0.write(&$1)
        }
    }

    // MARK: Its events

    /// Once for each time that the events are finished, so that a repeat can be recognized.
    private func acknowledge(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = TenantSession.ID(call.parameter) else { throw Self.notFound }
        switch try await sessions.acknowledge(id, of: tenant) {
        case .acknowledged: break
        case .repeated:
            throw Problem(.sessionEventsAcknowledged, "Nothing has happened in the session since then.")
        case .tooEarly:
            throw Problem(
                .sessionEventsNotFinished,
                "The session has jobs, messages about some are on their way, or it had none to tell of.")
        case .unknown: throw Self.notFound
        }
        let session = try await session(call, tenant)
        return .json { session.write(&$0) }
    }

    // MARK: The end

    private func invalidate(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["mode"])
        let mode: Invalidation = try query.oneOf("mode") ?? .finish
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        guard let id = Self.id(call) else { throw Self.notFound }
        guard id != .default else { throw Self.stays }
        defer { known.forget(id, of: tenant) }
        guard let session = try await sessions.invalidate(id, of: tenant, mode) else { throw Self.notFound }
        return .json(status: session.state == .invalidated ? .ok : .accepted) { session.write(&$0) }
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let session = try await session(call, tenant)
        guard session.id != .default else { throw Self.stays }
        guard try await sessions.remove(session.id, of: tenant) else {
            throw Problem(.sessionNotInvalidated, "The session is \(session.state.rawValue).")
        }
        known.forget(session.id, of: tenant)
        return Response(status: .noContent)
    }

    private static let notFound = Problem(.notFound, "There is no session with this id.")
    private static let stays = Problem(.sessionNotInvalidated, "The default session cannot be invalidated.")
}

extension SessionFilter {
    /// As a query writes it, to go on with.
    fileprivate var text: String {
        Query.text([
            ("kind", kind?.rawValue), ("identifier", identifier), ("outstanding", isOutstanding ? "true" : nil),
        ])
    }

    /// The filter as one word, for cursors.
    fileprivate var digest: String { Cursor<TenantSession.Kind>.digest(of: text) }
}
