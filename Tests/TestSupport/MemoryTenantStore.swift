package import FetchJobs
import Synchronization

/// The tenants of a test, in memory: the second form of ``TenantStore``.
package final class MemoryTenantStore: TenantStore {
    private let state = Mutex<[TenantShare]>([])

    /// - Parameter names: Of the tenants there are.
    package init(_ names: [String]) {
        state.withLock { state in
            state = names.enumerated().map { number, name in
                TenantShare(tenant: Tenant(id: Tenant.ID(rawValue: Int64(number + 1)), name: name))
            }
        }
    }

    /// A further tenant.
    package func add(_ name: String) {
        state.withLock { state in
            let id = Tenant.ID(rawValue: Int64(state.count + 1))
            state.append(TenantShare(tenant: Tenant(id: id, name: name)))
        }
    }

    package func tenants(after tenant: Tenant.ID?, limit: Int) async throws(StoreError) -> [TenantShare] {
        state.withLock { state in
            Array(state.filter { $0.tenant.id.rawValue > tenant?.rawValue ?? 0 }.prefix(limit))
        }
    }

    package func tenant(named name: String) async throws(StoreError) -> TenantShare? {
        state.withLock { state in state.first { $0.tenant.name == name } }
    }

    package func ownLimits() async throws(StoreError) -> [Tenant.ID: TenantLimits] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.filter { !$0.limits.isEmpty }.map { ($0.tenant.id, $0.limits) })
        }
    }

    /// Nothing runs here.
    package func usage(of tenant: Tenant.ID) async throws(StoreError) -> TenantUsage {
        TenantUsage(dayEnd: Timestamp(microseconds: 1_764_115_200_000_000))
    }

    package func change(_ change: TenantChange, ofTenant name: String) async throws(StoreError) -> TenantShare? {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.tenant.name == name }) else { return nil }
            state[index].weight = change.weight ?? state[index].weight
            for (limit, value) in change.limits { state[index].limits[limit] = value.number }
            return state[index]
        }
    }
}
