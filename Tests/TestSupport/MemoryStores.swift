package import FetchJobs
import Synchronization

/// The keys of a test, in memory: the second form of ``KeyStore``.
package final class MemoryKeyStore: KeyStore {
    private struct Stored {
        var key: APIKey
        let secret: [UInt8]
    }

    private struct State {
        var tenants: [String: Tenant] = [:]
        var keys: [APIKey.ID: Stored] = [:]
        var lookups = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// How often a token was looked up.
    package var lookups: Int { state.withLock { $0.lookups } }

    package func authenticate(_ token: APIKeyToken) async throws(StoreError) -> APIKey? {
        state.withLock { state in
            state.lookups += 1
            guard let stored = state.keys[token.id], stored.secret == token.secret else { return nil }
            return stored.key.revokedAt == nil ? stored.key : nil
        }
    }

    package func create(name: String, tenant: String, isAdmin: Bool) async throws(StoreError) -> (APIKey, APIKeyToken) {
        state.withLock { state in
            let owner =
                state.tenants[tenant]
                ?? Tenant(id: Tenant.ID(rawValue: Int64(state.tenants.count + 1)), name: tenant)
            state.tenants[tenant] = owner
            let key = APIKey(id: APIKey.ID(), tenant: owner.id, name: name, isAdmin: isAdmin, createdAt: .now)
            let token = APIKeyToken(id: key.id)
            state.keys[key.id] = Stored(key: key, secret: token.secret)
            return (key, token)
        }
    }

    package func keys() async throws(StoreError) -> [(key: APIKey, tenant: Tenant)] {
        state.withLock { state in
            state.keys.values.compactMap { stored in
                state.tenants.values.first { $0.id == stored.key.tenant }.map { (stored.key, $0) }
            }
            .sorted { ($0.1.id.rawValue, $0.0.id.uuid) < ($1.1.id.rawValue, $1.0.id.uuid) }
        }
    }

    package func revoke(_ id: APIKey.ID) async throws(StoreError) -> Bool {
        state.withLock { state in
            guard let stored = state.keys[id], stored.key.revokedAt == nil else { return false }
            state.keys[id]?.key = APIKey(
                id: id,
                tenant: stored.key.tenant,
                name: stored.key.name,
                isAdmin: stored.key.isAdmin,
                createdAt: stored.key.createdAt,
                revokedAt: .now
            )
            return true
        }
    }

    package func hasKeys() async throws(StoreError) -> Bool {
        state.withLock { $0.keys.values.contains { $0.key.revokedAt == nil } }
    }
}

/// Ready until a test says otherwise.
package final class MemoryReadiness: Readiness {
    private let current = Mutex<[String]>([])
    private let isWorking = Mutex(true)
    private let load = Mutex<Overload?>(nil)

    package init() {}

    package func set(_ obstacles: [String]) { current.withLock { $0 = obstacles } }

    package func setWorker(lives: Bool) { isWorking.withLock { $0 = lives } }

    package func set(_ overload: Overload?) { load.withLock { $0 = overload } }

    package func overload(for tenant: Tenant.ID) -> Overload? { load.withLock(\.self) }

    package var hasLiveWorker: Bool { isWorking.withLock { $0 } }

    package func obstacles() async -> [String] { current.withLock { $0 } }
}
