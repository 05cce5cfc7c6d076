package import FetchJobs
import Synchronization

/// The URL groups of a test, in memory: the second form of ``URLGroupStore``.
package final class MemoryURLGroupStore: URLGroupStore {
    private struct Key: Hashable {
        let tenant: Tenant.ID
        let name: String
    }

    private let groups = Mutex<[Key: URLGroup]>([:])

    package init() {}

    package func urlGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError) -> URLGroup? {
        groups.withLock { $0[Key(tenant: tenant, name: name)] }
    }

    package func urlGroups(of tenant: Tenant.ID) async throws(StoreError) -> [URLGroup] {
        groups.withLock { groups in
            groups.filter { $0.key.tenant == tenant }.map(\.value).sorted { $0.name < $1.name }
        }
    }

    package func add(
        _ endpoints: [URLGroup.Endpoint], toURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Bool {
        groups.withLock { groups in
            let key = Key(tenant: tenant, name: name)
            let old = groups[key]
            var all = old?.endpoints ?? []
            for new in endpoints {
                if let index = all.firstIndex(where: { $0.url == new.url }) {
                    all[index] = URLGroup.Endpoint(url: new.url, name: new.name ?? all[index].name)
                } else {
                    all.removeAll { $0.name != nil && $0.name == new.name }
                    all.append(new)
                }
            }
            let others = groups.filter { $0.key.tenant == tenant && $0.key != key }.values.map(\.endpoints.count)
            guard all.count <= URLGroup.maximumEndpoints,
                others.reduce(all.count, +) <= URLGroup.maximumEndpointsOfTenant
            else { return false }
            groups[key] = URLGroup(name: name, createdAt: old?.createdAt ?? .now, updatedAt: .now, endpoints: all)
            return true
        }
    }

    package func remove(
        urls: [String], names: [String], fromURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Int {
        groups.withLock { groups in
            let key = Key(tenant: tenant, name: name)
            guard let old = groups[key] else { return 0 }
            let left = old.endpoints.filter { endpoint in
                !urls.contains(endpoint.url) && !(endpoint.name.map(names.contains) ?? false)
            }
            groups[key] =
                left.isEmpty ? nil : URLGroup(name: name, createdAt: old.createdAt, updatedAt: .now, endpoints: left)
            return old.endpoints.count - left.count
        }
    }

    package func removeURLGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError) {
        groups.withLock { $0[Key(tenant: tenant, name: name)] = nil }
    }
}
