package import FetchJobs
import Synchronization

/// The sessions of a test, in memory: the second form of ``SessionStore``.
package final class MemorySessionStore: SessionStore, SnapshotStore {
    struct Stored {
        var session: TenantSession
        let idempotency: Idempotency?
        /// A job of a background session has been stored since its events were finished last.
        var hasEvents = false
        /// On how many layers it lies.
        var layers = 1
    }

    private static let maximumLayers = 16

    private let jobs: MemoryJobStore
    private let snapshots = Mutex<[SessionSnapshot.ID: (tenant: Tenant.ID, snapshot: SessionSnapshot)]>([:])

    /// - Parameter jobs: Where the jobs of the sessions are, which learns from this which sessions take jobs.
    package init(jobs: MemoryJobStore) { self.jobs = jobs }

    /// Loses a session, as when the node ends that had it in memory; its jobs stay.
    package func lose(_ id: TenantSession.ID) { jobs.state.withLock { $0.sessions[id] = nil } }

    package func create(_ new: NewSession) async throws(StoreError) -> SessionCreation {
        jobs.state.withLock { state in
            let own = state.sessions.values.filter { $0.session.tenant == new.tenant }
            if let idempotency = new.idempotency,
                let first = own.first(where: { $0.idempotency?.key == idempotency.key })
            {
                return .made(first.idempotency == idempotency ? .replayed(first.session) : .conflict)
            }
            let isInUse = own.contains {
                new.spec.identifier != nil && $0.session.spec.identifier == new.spec.identifier
                    && $0.session.state != .invalidated
            }
            guard !isInUse else { return .identifierInUse }
            let session = TenantSession(id: new.id, tenant: new.tenant, spec: new.spec, createdAt: .now)
            state.sessions[new.id] = Stored(session: session, idempotency: new.idempotency)
            return .made(.created(session))
        }
    }

    package func replay(_ new: NewSession) async throws(StoreError) -> TenantSession? {
        guard let idempotency = new.idempotency else { return nil }
        return jobs.state.withLock { state in
            state.sessions.values.first { $0.session.tenant == new.tenant && $0.idempotency == idempotency }?.session
        }
    }

    package func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession? {
        jobs.state.withLock { $0.session(id, of: tenant)?.session }
    }

    package func ephemeralOwner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> Node.ID? {
        jobs.state.withLock { state in
            let sessions = state.sessions.values.map(\.session)
            return sessions.first { session in
                session.tenant == tenant && session.spec.kind == .ephemeral
                    && TenantSession.isEphemeralOwner(session.id, of: job)
            }?.node
        }
    }

    package func sessions(
        of tenant: Tenant.ID,
        matching filter: SessionFilter,
        page: SessionPage
    ) async throws(StoreError) -> [TenantSession] {
        jobs.state.withLock { state in
            state.sessions.values
                .filter { stored in
                    let session = stored.session
                    return session.tenant == tenant && page.after.map { session.id < $0 } ?? true
                        && filter.kind.map { $0 == session.spec.kind } ?? true
                        && filter.identifier.map { $0 == session.spec.identifier } ?? true
                        && (!filter.isOutstanding || stored.hasEvents || !state.outstanding(of: session.id).isEmpty)
                }
                .map(\.session)
                .sorted { $0.id > $1.id }
                .prefix(page.limit).map(\.self)
        }
    }

    package func invalidate(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID,
        _ mode: Invalidation
    ) async throws(StoreError) -> TenantSession? {
        let outstanding = jobs.state.withLock { state -> [Job.ID]? in
            guard let session = state.session(id, of: tenant)?.session,
                session.state == .active || (session.state == .finishing && mode == .cancel)
            else { return nil }
            state.sessions[id]?.session.state = mode.state
            state.sessions[id]?.session.invalidatedAt = session.invalidatedAt ?? .now
            return mode == .cancel ? state.outstanding(of: id) : []
        }
        if let outstanding {
            try await jobs.cancel(outstanding, of: tenant, .plainly)
            try await settle([SessionAddress(tenant: tenant, session: id)])
        }
        return try await session(id, of: tenant)
    }

    package func acknowledge(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> EventsAcknowledgement {
        jobs.state.withLock { state in
            guard let stored = state.session(id, of: tenant) else { return .unknown }
            guard !stored.hasEvents, stored.session.eventsFinishedAt != nil else { return .tooEarly }
            guard stored.session.eventsAcknowledgedAt == nil else { return .repeated }
            state.sessions[id]?.session.eventsAcknowledgedAt = .now
            return .acknowledged
        }
    }

    package func remove(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        jobs.state.withLock { state in
            guard state.session(id, of: tenant)?.session.state == .invalidated else { return false }
            state.sessions[id] = nil
            return true
        }
    }

    package func settle(_ sessions: [SessionAddress]) async throws(StoreError) {
        jobs.state.withLock { state in
            for session in sessions where state.outstanding(of: session.session).isEmpty {
                let id = session.session
                guard var stored = state.session(id, of: session.tenant) else { continue }
                if stored.hasEvents {
                    stored.hasEvents = false
                    (stored.session.eventsFinishedAt, stored.session.eventsAcknowledgedAt) = (.now, nil)
                }
                if [.finishing, .cancelling].contains(stored.session.state) {
                    (stored.session.state, stored.session.endedAt) = (.invalidated, .now)
                }
                state.sessions[id] = stored
            }
        }
    }

    package func settle(
        after last: SessionAddress?, limit: Int
    ) async throws(StoreError) -> SessionAddress? {
        let part = jobs.state.withLock { state in
            state.sessions.values
                .filter { $0.hasEvents || [.finishing, .cancelling].contains($0.session.state) }
                .map { SessionAddress(tenant: $0.session.tenant, session: $0.session.id) }
                .filter { session in last.map { Self.isInOrder($0, session) } ?? true }
                .sorted(by: Self.isInOrder)
                .prefix(limit).map(\.self)
        }
        try await settle(part)
        return part.count < limit ? nil : part.last
    }

    private static func isInOrder(_ one: SessionAddress, _ other: SessionAddress) -> Bool {
        (one.tenant.rawValue, one.session) < (other.tenant.rawValue, other.session)
    }

    // MARK: SnapshotStore

    package func take(of session: TenantSession.ID, tenant: Tenant.ID) async throws(StoreError) -> SnapshotCreation {
        let creation = jobs.state.withLock { state -> SnapshotCreation in
            guard let stored = state.session(session, of: tenant), stored.session.spec.kind != .ephemeral else {
                return .unknown
            }
            guard stored.layers < Self.maximumLayers else { return .tooManyLayers }
            state.sessions[session]?.layers += 1
            return .created(
                SessionSnapshot(
                    id: SessionSnapshot.ID(), session: session, configuration: stored.session.spec.configuration,
                    createdAt: .now))
        }
        if case .created(let snapshot) = creation { snapshots.withLock { $0[snapshot.id] = (tenant, snapshot) } }
        return creation
    }

    package func snapshot(
        _ id: SessionSnapshot.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> SessionSnapshot? {
        snapshots.withLock { $0[id].flatMap { $0.tenant == tenant ? $0.snapshot : nil } }
    }

    package func remove(snapshot id: SessionSnapshot.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        snapshots.withLock { snapshots in
            guard snapshots[id]?.tenant == tenant else { return false }
            snapshots[id] = nil
            return true
        }
    }
}

extension SessionStore {
    /// Looks at all sessions, part by part.
    package func settle() async throws(StoreError) {
        var last: SessionAddress?
        repeat { last = try await settle(after: last, limit: 100) } while last != nil
    }
}

extension MemoryJobStore.State {
    fileprivate func session(_ id: TenantSession.ID, of tenant: Tenant.ID) -> MemorySessionStore.Stored? {
        sessions[id].flatMap { $0.session.tenant == tenant ? $0 : nil }
    }

    /// The jobs of a session that are not final.
    fileprivate func outstanding(of session: TenantSession.ID) -> [Job.ID] {
        jobs.values.filter { specs[$0.id]?.session == session && !$0.state.isFinal }.map(\.id)
    }
}
