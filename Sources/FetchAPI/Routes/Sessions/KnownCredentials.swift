import FetchJobs
import Synchronization

/// The stored credentials that jobs name, without asking for each job.
///
/// An entry stays true while the credential exists, because its protection space never changes.
final class KnownCredentials: Sendable {
    private struct Key: Hashable {
        let tenant: Tenant.ID
        let id: StoredCredential.ID
    }

    private static let lifetime = Duration.seconds(5)
    private static let maximumEntries = 10_000

    private let store: any CredentialCatalog
    private let known = Mutex<[Key: (credential: StoredCredential, seenAt: ContinuousClock.Instant)]>([:])

    init(store: any CredentialCatalog) { self.store = store }

    /// Refuses a job that names a credential of another tenant, or one for another server or proxy.
    func check(_ job: JobSpec, of tenant: Tenant.ID) async throws {
        guard !job.configuration.isEmpty else { return }
        try await check(NamedCredential.all(in: job.configuration, for: job.request.url), of: tenant)
    }

    /// Refuses a session's configuration that does; the servers of its jobs are not known yet.
    func check(_ configuration: Configuration, of tenant: Tenant.ID) async throws {
        try await check(NamedCredential.all(in: configuration), of: tenant)
    }

    private func check(_ named: [NamedCredential], of tenant: Tenant.ID) async throws {
        for named in named { try named.check(await credential(named.id, of: tenant)) }
    }

    private func credential(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws -> StoredCredential? {
        let key = Key(tenant: tenant, id: id)
        let now = ContinuousClock.now
        if let seen = known.withLock({ $0[key] }), now - seen.seenAt < Self.lifetime { return seen.credential }
        guard let credential = try await store.credential(id, of: tenant) else { return nil }
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[key] = (credential, now)
        }
        return credential
    }

    func forget(_ id: StoredCredential.ID, of tenant: Tenant.ID) {
        known.withLock { _ = $0.removeValue(forKey: Key(tenant: tenant, id: id)) }
    }

    func forgetAll() { known.withLock { $0.removeAll() } }
}
