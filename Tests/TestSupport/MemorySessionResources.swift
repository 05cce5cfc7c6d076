package import FetchEngine
package import FetchJobs
import Synchronization

/// The stores of a test's sessions, in memory: the second form of ``SessionResources``.
package final class MemorySessionResources: SessionResources {
    private struct Stores {
        let cookies = MemoryCookieStorage()
        let credentials = MemoryCredentialStorage()
        let responses = MemoryResponseCache()
        let answers = AnswerMemory { (0, []) }
    }

    private let stores = Mutex<[SessionAddress: Stores]>([:])

    package init() {}

    private func stores(of session: SessionAddress) -> Stores {
        stores.withLock { all in
            let stores = all[session] ?? Stores()
            all[session] = stores
            return stores
        }
    }

    package func cookieStorage(of session: SessionAddress) -> any CookieStorage { stores(of: session).cookies }

    package func credentialStorage(of session: SessionAddress) -> any CredentialStorage {
        stores(of: session).credentials
    }

    package nonisolated(nonsending) func holdsIdentities(of session: SessionAddress) async -> Bool { false }

    package nonisolated(nonsending) func id(
        of credential: Credential, for space: ProtectionSpace, in session: SessionAddress
    ) async -> StoredCredential.ID? { nil }

    package func openCredential(
        _ id: StoredCredential.ID, of tenant: Tenant.ID, for job: Job.ID?
    ) async throws(StoreError) -> (credential: Credential, space: ProtectionSpace)? { nil }

    package func cache(of session: SessionAddress) -> any ResponseCache { stores(of: session).responses }

    package func answerMemory(of session: SessionAddress) -> AnswerMemory { stores(of: session).answers }

    package func require(_ version: StoresVersion, of session: SessionAddress) {}
}
