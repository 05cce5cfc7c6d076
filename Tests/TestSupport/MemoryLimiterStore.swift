package import FetchJobs
import Synchronization

/// The limiters of a test, in memory: the second form of ``LimiterStore``.
///
/// Nothing obeys them: a ``MemoryWorkQueue`` has every job in none.
package final class MemoryLimiterStore: LimiterStore {
    private struct State {
        var limiters: [Limiter.Address: Limiter] = [:]
        var paused: Set<Tenant.ID> = []
    }

    private let jobs: MemoryJobStore

    private let state = Mutex(State())

    /// - Parameter jobs: Those that run and wait.
    package init(jobs: MemoryJobStore) { self.jobs = jobs }

    package func limiters(
        of tenant: Tenant.ID, _ kind: Limiter.Kind, after key: String, limit: Int
    ) async throws(StoreError) -> [Limiter] {
        let limiters = state.withLock { $0.limiters }
        return Array(
            limiters.values.filter { $0.address.tenant == tenant && $0.address.kind == kind && $0.address.key > key }
                .sorted { $0.address.key < $1.address.key }.prefix(limit))
    }

    package func limiter(_ address: Limiter.Address) async throws(StoreError) -> Limiter? {
        state.withLock { $0.limiters[address] }
    }

    package func set(
        _ limits: SharedLimits, of address: Limiter.Address, keepsPinned: Bool
    ) async throws(StoreError) {
        state.withLock { state in
            let kept = keepsPinned ? limits.keepingPinned(of: state.limiters[address]?.limits) : limits
            state.limiters[address, default: Limiter(address: address)].limits = kept
        }
    }

    package func resetRate(of address: Limiter.Address) async throws(StoreError) {
        state.withLock { state in
            state.limiters[address]?.started = 0
            state.limiters[address]?.periodBegan = nil
        }
    }

    package func setPaused(_ isPaused: Bool, _ address: Limiter.Address) async throws(StoreError) {
        state.withLock { $0.limiters[address, default: Limiter(address: address)].isPaused = isPaused }
    }

    package func skip(_ address: Limiter.Address) async throws(StoreError) {
        state.withLock { $0.limiters[address]?.blockedBy = nil }
    }

    package func queue(of tenant: Tenant.ID) async throws(StoreError) -> TenantQueue {
        var queue = TenantQueue()
        queue.isPaused = state.withLock { $0.paused.contains(tenant) }
        let own = jobs.state.withLock { $0.jobs.values.filter { $0.tenant == tenant && !$0.state.isFinal } }
        queue.running = Int64(own.count(where: \.isClaimed))
        queue.waiting = Int64(own.count) - queue.running
        return queue
    }

    package func setPaused(_ isPaused: Bool, of tenant: Tenant.ID) async throws(StoreError) {
        state.withLock { state in
            if isPaused { state.paused.insert(tenant) } else { state.paused.remove(tenant) }
        }
    }

    package func remove(_ address: Limiter.Address) async throws(StoreError) -> Bool {
        state.withLock { $0.limiters.removeValue(forKey: address) != nil }
    }
}
