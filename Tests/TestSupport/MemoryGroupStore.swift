package import FetchJobs
import Synchronization

/// The groups of a test, in memory: the second form of ``GroupStore``.
package final class MemoryGroupStore: GroupStore {
    struct Stored {
        var group: JobGroup
        let idempotency: Idempotency?
    }

    private let jobs: MemoryJobStore

    /// - Parameter jobs: Where the jobs of the groups are, which learns from this which groups take jobs.
    package init(jobs: MemoryJobStore) { self.jobs = jobs }

    package func create(
        _ group: JobGroup, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<JobGroup> {
        jobs.state.withLock { state in
            let first = state.groups.values.first {
                $0.group.tenant == group.tenant && $0.idempotency != nil && $0.idempotency?.key == idempotency?.key
            }
            if let first { return first.idempotency == idempotency ? .replayed(first.group) : .conflict }
            state.groups[group.id] = Stored(group: group, idempotency: idempotency)
            return .created(group)
        }
    }

    package func group(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        jobs.state.withLock { $0.group(id, of: tenant) }
    }

    package func groups(
        of tenant: Tenant.ID, after group: JobGroup.ID?, limit: Int
    ) async throws(StoreError) -> [JobGroup] {
        jobs.state.withLock { state in
            state.groups.values.map(\.group)
                .filter { found in found.tenant == tenant && group.map { found.id < $0 } ?? true }
                .sorted { $0.id > $1.id }
                .prefix(limit).map(\.self)
        }
    }

    package func counts(
        of group: JobGroup.ID, tenant: Tenant.ID
    ) async throws(StoreError) -> [JobState: Int64] {
        jobs.state.withLock { state in
            let jobs = state.jobs(of: group).filter { $0.tenant == tenant }
            return Dictionary(grouping: jobs, by: \.state).mapValues { Int64($0.count) }
        }
    }

    package func close(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        let isClosed = jobs.state.withLock { state in
            guard state.group(id, of: tenant)?.state == .open else { return false }
            state.groups[id]?.group.closedAt = .now
            return true
        }
        if isClosed { try await settle([JobGroup.Address(tenant: tenant, id: id)]) }
        return try await group(id, of: tenant)
    }

    package func remove(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        jobs.state.withLock { state in
            guard state.group(id, of: tenant)?.state == .finished else { return false }
            state.groups[id] = nil
            return true
        }
    }

    package func settle(_ groups: [JobGroup.Address]) async throws(StoreError) {
        jobs.state.withLock { state in
            for group in groups where state.group(group.id, of: group.tenant)?.state == .closed {
                guard state.jobs(of: group.id).allSatisfy(\.state.isFinal) else { continue }
                state.groups[group.id]?.group.finishedAt = .now
            }
        }
    }

    package func settle(
        after last: JobGroup.Address?, limit: Int
    ) async throws(StoreError) -> JobGroup.Address? {
        let part = jobs.state.withLock { state in
            state.groups.values.map(\.group)
                .filter { $0.state == .closed }
                .map { JobGroup.Address(tenant: $0.tenant, id: $0.id) }
                .filter { group in last.map { Self.isInOrder($0, group) } ?? true }
                .sorted(by: Self.isInOrder)
                .prefix(limit).map(\.self)
        }
        try await settle(part)
        return part.count < limit ? nil : part.last
    }

    private static func isInOrder(_ one: JobGroup.Address, _ other: JobGroup.Address) -> Bool {
        (one.tenant.rawValue, one.id) < (other.tenant.rawValue, other.id)
    }
}

extension GroupStore {
    /// Looks at all groups, part by part.
    package func settle() async throws(StoreError) {
        var last: JobGroup.Address?
        repeat { last = try await settle(after: last, limit: 100) } while last != nil
    }
}

extension MemoryJobStore.State {
    fileprivate func group(_ id: JobGroup.ID, of tenant: Tenant.ID) -> JobGroup? {
        groups[id].flatMap { $0.group.tenant == tenant ? $0.group : nil }
    }

    fileprivate func jobs(of group: JobGroup.ID) -> [Job] { jobs.values.filter { specs[$0.id]?.group == group } }
}
