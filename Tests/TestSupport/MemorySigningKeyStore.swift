package import FetchJobs
import Synchronization

/// The signing keys of a test, in memory.
package final class MemorySigningKeyStore: SigningKeyStore {
    private let keys = Mutex<[Tenant.ID: SigningKeys]>([:])

    package init() {}

    package func signingKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys {
        keys.withLock { keys in
            let own = keys[tenant] ?? SigningKeys()
            keys[tenant] = own
            return own
        }
    }

    package func rotateSigningKeys(of tenant: Tenant.ID) async throws(StoreError) -> SigningKeys {
        let old = try await signingKeys(of: tenant)
        let new = SigningKeys(current: old.next)
        keys.withLock { $0[tenant] = new }
        return new
    }
}
