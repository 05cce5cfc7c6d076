import FetchEngine
package import FetchJobs
import Synchronization

/// The credentials of a test's sessions, in memory: the second form of ``CredentialCatalog``.
package final class MemoryCredentialCatalog: CredentialCatalog {
    private struct Kept {
        let session: SessionAddress
        let stored: StoredCredential
    }

    private let kept = Mutex<[Kept]>([])

    package init() {}

    package func credentials(of session: SessionAddress) async throws(StoreError) -> [StoredCredential] {
        let forAll = SessionAddress(tenant: session.tenant)
        return kept.withLock { $0.filter { $0.session == session || $0.session == forAll }.map(\.stored) }
    }

    package func credential(
        _ id: StoredCredential.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> StoredCredential? {
        kept.withLock { $0.first { $0.stored.id == id && $0.session.tenant == tenant }?.stored }
    }

    package func add(
        _ submission: CredentialSubmission,
        to tenant: Tenant.ID
    ) async throws(StoreError) -> StoredCredential {
        let credential = submission.credential
        guard let kind = credential.kind else { throw StoreError(.failed, "The credential is of no kind.") }
        let stored = StoredCredential(
            id: StoredCredential.ID(), space: submission.space, kind: kind, user: credential.user,
            persistence: credential.persistence, isDefault: submission.isDefault, createdAt: .now, updatedAt: .now,
            lastFailureAt: nil)
        let session = SessionAddress(tenant: tenant, session: submission.session)
        kept.withLock { $0.append(Kept(session: session, stored: stored)) }
        return stored
    }

    package func remove(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        kept.withLock { kept in
            let count = kept.count
            kept.removeAll { $0.stored.id == id && $0.session.tenant == tenant }
            return kept.count < count
        }
    }

    /// None: nothing is loaded with it.
    package func uses(
        of credential: StoredCredential.ID?, tenant: Tenant.ID, after use: CredentialUse.ID?, limit: Int
    ) async throws(StoreError) -> [CredentialUse] { [] }

    package func removeCredentials(of session: SessionAddress) async throws(StoreError) -> Int {
        kept.withLock { kept in
            let count = kept.count
            kept.removeAll { $0.session == session }
            return count - kept.count
        }
    }
}
