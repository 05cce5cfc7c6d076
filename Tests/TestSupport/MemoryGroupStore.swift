package import FetchJobs
import Synchronization

/// The groups of a test, in memory: the second form of ``GroupStore``.
package final class MemoryGroupStore: GroupStore {
    private struct Stored {
        var group: JobGroup
        let idempotency: Idempotency?
    }

    private let jobs: any JobStore
    private let stored = Mutex<[Stored]>([])

    /// - Parameter jobs: Where the jobs of the groups are.
    package init(jobs: any JobStore) { self.jobs = jobs }

    package func create(
        _ group: JobGroup, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<JobGroup> {
        stored.withLock { stored in
            let first = stored.first {
                $0.group.tenant == group.tenant && $0.idempotency != nil && $0.idempotency?.key == idempotency?.key
            }
            if let first { return first.idempotency == idempotency ? .replayed(first.group) : .conflict }
            stored.append(Stored(group: group, idempotency: idempotency))
            return .created(group)
        }
    }

    package func group(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        stored.withLock { $0.first { $0.group.id == id && $0.group.tenant == tenant }?.group }
    }

    package func groups(
        of tenant: Tenant.ID, after group: JobGroup.ID?, limit: Int
    ) async throws(StoreError) -> [JobGroup] {
        stored.withLock { stored in
            stored.map(\.group)
                .filter { found in found.tenant == tenant && group.map { found.id < $0 } ?? true }
                .sorted { $0.id > $1.id }
                .prefix(limit).map(\.self)
        }
    }

    package func counts(
        of group: JobGroup.ID, tenant: Tenant.ID
    ) async throws(StoreError) -> [JobState: Int64] {
        var filter = JobFilter()
        filter.group = group
        let found = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: .max))
        return Dictionary(grouping: found, by: \.state).mapValues { Int64($0.count) }
    }

    package func close(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        stored.withLock { stored in
            let index = stored.firstIndex { $0.group.id == id && $0.group.tenant == tenant }
            guard let index else { return }
            stored[index].group.closedAt = stored[index].group.closedAt ?? .now
        }
        try await settle()
        return try await group(id, of: tenant)
    }

    package func remove(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        stored.withLock { stored in
            let count = stored.count
            stored.removeAll { $0.group.id == id && $0.group.tenant == tenant && $0.group.state == .finished }
            return stored.count < count
        }
    }

    package func settle() async throws(StoreError) {
        for group in stored.withLock({ $0.map(\.group) }) where group.state == .closed {
            let counts = try await counts(of: group.id, tenant: group.tenant)
            guard counts.keys.allSatisfy(\.isFinal) else { continue }
            stored.withLock { stored in
                guard let index = stored.firstIndex(where: { $0.group.id == group.id }) else { return }
                stored[index].group.finishedAt = .now
            }
        }
    }
}
