import FetchEngine
package import FetchJobs
import Synchronization

/// The credentials of a test's sessions, in memory: the second form of ``CredentialCatalog``.
package final class MemoryCredentialCatalog: CredentialCatalog {
    private struct Kept {
        let session: SessionAddress
        var stored: StoredCredential
    }

    private let kept = Mutex<[Kept]>([])

    package init() {}

    package func credentials(of session: SessionAddress) async throws(StoreError) -> [StoredCredential] {
        let forAll = SessionAddress(tenant: session.tenant)
        let places = session == forAll ? [session] : [session, forAll]
        return kept.withLock { kept in places.flatMap { place in kept.filter { $0.session == place }.map(\.stored) } }
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
        let place = SessionAddress(tenant: tenant, session: submission.session)
        return kept.withLock { kept in
            let ofSpace = kept.indices.filter {
                kept[$0].session == place && kept[$0].stored.space == submission.space
            }
            let index = ofSpace.first { kept[$0].stored.user == credential.user }
            let old = index.map { kept[$0].stored }
            let isDefault =
                submission.isDefault || old?.isDefault == true || !ofSpace.contains { kept[$0].stored.isDefault }
            if submission.isDefault {
                for other in ofSpace { kept[other].stored = kept[other].stored.with(isDefault: false) }
            }
            let stored = StoredCredential(
                id: old?.id ?? StoredCredential.ID(), space: submission.space, kind: kind, user: credential.user,
                persistence: credential.persistence, isDefault: isDefault, createdAt: old?.createdAt ?? .now,
                updatedAt: .now, lastFailureAt: nil)
            if let index { kept[index].stored = stored } else { kept.append(Kept(session: place, stored: stored)) }
            return stored
        }
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

extension StoredCredential {
    fileprivate func with(isDefault: Bool) -> StoredCredential {
        StoredCredential(
            id: id, space: space, kind: kind, user: user, persistence: persistence, isDefault: isDefault,
            createdAt: createdAt, updatedAt: updatedAt, lastFailureAt: lastFailureAt)
    }
}
