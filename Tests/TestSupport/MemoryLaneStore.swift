package import FetchJobs
import Synchronization

/// The lanes of a test, in memory.
package final class MemoryLaneStore: LaneStore {
    private struct State {
        var lanes: [Lane.Address: Lane] = [:]
        var queues: [Tenant.ID: TenantQueue] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func lanes(
        of tenant: Tenant.ID, _ kind: Lane.Kind, after key: String, limit: Int
    ) async throws(StoreError) -> [Lane] {
        let lanes = state.withLock { $0.lanes }
        return Array(
            lanes.values.filter { $0.address.tenant == tenant && $0.address.kind == kind && $0.address.key > key }
                .sorted { $0.address.key < $1.address.key }.prefix(limit))
    }

    package func lane(_ address: Lane.Address) async throws(StoreError) -> Lane? {
        state.withLock { $0.lanes[address] }
    }

    package func set(_ limits: LaneLimits, of address: Lane.Address) async throws(StoreError) {
        state.withLock { $0.lanes[address, default: Lane(address: address)].limits = limits }
    }

    package func setPaused(_ isPaused: Bool, _ address: Lane.Address) async throws(StoreError) {
        state.withLock { $0.lanes[address, default: Lane(address: address)].isPaused = isPaused }
    }

    package func skip(_ address: Lane.Address) async throws(StoreError) {
        state.withLock { $0.lanes[address]?.blockedBy = nil }
    }

    package func queue(of tenant: Tenant.ID) async throws(StoreError) -> TenantQueue {
        state.withLock { $0.queues[tenant] ?? TenantQueue() }
    }

    package func setPaused(_ isPaused: Bool, of tenant: Tenant.ID) async throws(StoreError) {
        state.withLock { $0.queues[tenant, default: TenantQueue()].isPaused = isPaused }
    }

    package func remove(_ address: Lane.Address) async throws(StoreError) -> Bool {
        state.withLock { $0.lanes.removeValue(forKey: address) != nil }
    }
}
