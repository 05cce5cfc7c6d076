import FetchJobs
import FetchRuntime
import Synchronization

/// The sessions that jobs name, without asking for each job.
final class KnownSessions: Sendable {
    static let lifetime = Duration.seconds(5)
    static let maximumEntries = 10_000

    private let store: any SessionStore
    private let schemes: OptionalSchemes
    private let protocols: KnownProtocols
    private let credentials: KnownCredentials
    private let known = Mutex<[SessionAddress: (session: TenantSession, seenAt: ContinuousClock.Instant)]>([:])

    init(
        store: any SessionStore, schemes: OptionalSchemes = OptionalSchemes(), protocols: KnownProtocols,
        credentials: KnownCredentials
    ) {
        self.store = store
        self.schemes = schemes
        self.protocols = protocols
        self.credentials = credentials
    }

    /// The session of this id as it was a few seconds ago at most, or nil when the tenant has no such session.
    nonisolated(nonsending) func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws -> TenantSession? {
        let address = SessionAddress(tenant: tenant, session: id)
        let now = ContinuousClock.now
        if let seen = known.withLock({ $0[address] }), now - seen.seenAt < Self.lifetime { return seen.session }
        guard let session = try await store.session(id, of: tenant) else { return nil }
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[address] = (session, now)
        }
        return session
    }

    /// Makes a job from a spec.
    ///
    /// Only storing the job tells whether the session has ended on another node.
    ///
    /// - Throws: When the service does not load its URL, when its credentials are for other servers, and when its
    ///   session belongs to another tenant or cannot have such a job.
    nonisolated(nonsending) func job(
        _ spec: JobSpec, of tenant: Tenant.ID, idempotency: Idempotency?, in trace: TraceContext? = nil
    ) async throws -> NewJob {
        var spec = spec
        spec.trace = trace
        try await credentials.check(spec, of: tenant)
        guard let id = spec.session else {
            try check(spec, of: tenant, among: nil)
            return NewJob(tenant: tenant, spec: spec, idempotency: idempotency)
        }
        guard let session = try await session(id, of: tenant) else {
            throw InvalidInput(pointer: "/session", message: "is not a session of yours")
        }
        try session.spec.check(spec)
        try check(spec, of: tenant, among: session.spec.protocols)
        return NewJob(
            id: session.newJobID(), tenant: tenant, spec: session.spec.adapted(spec), idempotency: idempotency)
    }

    /// Refuses a URL that is neither loaded by the service nor by a protocol that the session has.
    private func check(_ spec: JobSpec, of tenant: Tenant.ID, among names: [String]?) throws(InvalidInput) {
        let url = spec.request.url
        if protocols.protocol(for: url, of: tenant, among: names) == nil { try schemes.check(url) }
        for (index, mirror) in spec.request.mirrors.enumerated() {
            try schemes.check(mirror, at: "/request/mirrors/\(index)")
        }
    }

    /// Refuses a session with protocols that its tenant does not have.
    func check(_ spec: SessionSpec, of tenant: Tenant.ID) throws(InvalidInput) {
        let names = protocols.protocols(of: tenant).map(\.name)
        for (index, name) in (spec.protocols ?? []).enumerated() where !names.contains(name) {
            throw InvalidInput(pointer: "/protocols/\(index)", message: "is not a protocol of yours")
        }
    }

    /// The session whose stores a query means.
    func address(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws -> SessionAddress {
        if let refusal = try await refusal(of: id, tenant) { throw Problem(parameter: "session", refusal) }
        return SessionAddress(tenant: tenant, session: id)
    }

    /// Refuses a body for the stores of a session that belongs to another tenant or stores nothing.
    func requireStores(of id: TenantSession.ID, tenant: Tenant.ID) async throws {
        if let refusal = try await refusal(of: id, tenant) { throw InvalidInput(pointer: "/session", message: refusal) }
    }

    private func refusal(of id: TenantSession.ID, _ tenant: Tenant.ID) async throws -> String? {
        guard id != .default else { return nil }
        guard let session = try await session(id, of: tenant) else { return "is not a session of yours" }
        return session.spec.kind == .ephemeral ? "is ephemeral: what it learns is not stored" : nil
    }

    func forget(_ id: TenantSession.ID, of tenant: Tenant.ID) {
        known.withLock { _ = $0.removeValue(forKey: SessionAddress(tenant: tenant, session: id)) }
    }
}

extension Problem {
    static let sessionInvalidated = Problem(.sessionInvalidated, "The job was not stored.")
    static let groupClosed = Problem(.groupClosed, "The job was not stored.")
    static let sessionFull = Problem(
        .sessionFull, "The session has as many jobs that have not ended as it may. The job was not stored."
    ).retrying(after: 1)

    static func noRoom(_ room: EphemeralRoom) -> Problem {
        Problem(.sessionFull, "\(room.rule) The job was not stored.").retrying(after: 1)
    }

    static func queueFull(quota: Int) -> Problem {
        Problem(.queueFull, "\(quota) jobs may wait at once. The job was not stored.")
            .limited(by: "waitingJobs", quota: quota, retryingAfter: 5)
    }
}

extension EphemeralRoom {
    /// The rule that a tenant has met, in a sentence.
    var rule: String {
        let room =
            switch self {
            case .sessions(let count): "\(count) ephemeral sessions"
            case .jobs(let count): "\(count) jobs of ephemeral sessions that have not ended"
            case .bytes(let count): "\(count) bytes of ephemeral sessions and their jobs"
            }
        return "A node has room for \(room), of which a tenant may have as much as it leaves free."
    }
}
