package import FetchJobs
import Synchronization

/// The sessions of a test, in memory: the second form of ``SessionStore``.
///
/// Nothing runs their jobs, so none of them waits for any.
package final class MemorySessionStore: SessionStore, SnapshotStore {
    private struct Stored {
        var session: TenantSession
        let idempotency: Idempotency?
    }

    private let stored = Mutex<[Stored]>([])
    private let snapshots = Mutex<[SessionSnapshot.ID: (tenant: Tenant.ID, snapshot: SessionSnapshot)]>([:])

    package init() {}

    package func create(_ new: NewSession) async throws(StoreError) -> SessionCreation {
        stored.withLock { stored in
            if let key = new.idempotency?.key,
                let first = stored.first(where: { $0.idempotency?.key == key && $0.session.tenant == new.tenant })
            {
                let isSame = first.idempotency?.fingerprint == new.idempotency?.fingerprint
                return isSame ? .replayed(first.session) : .conflict
            }
            let isInUse = stored.contains {
                $0.session.tenant == new.tenant && $0.session.state != .invalidated && new.spec.identifier != nil
                    && $0.session.spec.identifier == new.spec.identifier
            }
            guard !isInUse else { return .identifierInUse }
            let session = TenantSession(id: new.id, tenant: new.tenant, spec: new.spec, createdAt: .now)
            stored.append(Stored(session: session, idempotency: new.idempotency))
            return .created(session)
        }
    }

    package func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession? {
        stored.withLock { $0.first { $0.session.id == id && $0.session.tenant == tenant }?.session }
    }

    package func sessions(
        of tenant: Tenant.ID,
        matching filter: SessionFilter,
        page: SessionPage
    ) async throws(StoreError) -> [TenantSession] {
        stored.withLock { stored in
            stored.map(\.session)
                .filter { session in
                    session.tenant == tenant && page.after.map { session.id < $0 } ?? true
                        && filter.kind.map { $0 == session.spec.kind } ?? true
                        && filter.identifier.map { $0 == session.spec.identifier } ?? true
                        && !filter.isOutstanding
                }
                .sorted { $0.id > $1.id }
                .prefix(page.limit).map(\.self)
        }
    }

    package func invalidate(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID,
        _ mode: Invalidation
    ) async throws(StoreError) -> TenantSession? {
        stored.withLock { stored in
            guard let index = stored.firstIndex(where: { $0.session.id == id && $0.session.tenant == tenant }) else {
                return nil
            }
            stored[index].session.state = .invalidated
            stored[index].session.invalidatedAt = stored[index].session.invalidatedAt ?? .now
            stored[index].session.endedAt = stored[index].session.endedAt ?? .now
            return stored[index].session
        }
    }

    /// Nothing runs jobs here, so no events are ever finished.
    package func acknowledge(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> EventsAcknowledgement {
        try await session(id, of: tenant) == nil ? .unknown : .tooEarly
    }

    package func remove(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        stored.withLock { stored in
            let count = stored.count
            stored.removeAll {
                $0.session.id == id && $0.session.tenant == tenant && $0.session.state == .invalidated
            }
            return stored.count < count
        }
    }

    package func settle() async throws(StoreError) {}

    // MARK: SnapshotStore

    package func take(of session: TenantSession.ID, tenant: Tenant.ID) async throws(StoreError) -> SnapshotCreation {
        guard let spec = try await self.session(session, of: tenant)?.spec else { return .unknown }
        let snapshot = SessionSnapshot(
            id: SessionSnapshot.ID(), session: session, configuration: spec.configuration, createdAt: .now)
        snapshots.withLock { $0[snapshot.id] = (tenant, snapshot) }
        return .created(snapshot)
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
