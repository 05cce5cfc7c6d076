package import FetchEngine
package import FetchJobs
package import Logging
package import Postgres
import Synchronization

/// The stores of all sessions, in PostgreSQL; a node has those in memory that its jobs use.
package final class PostgresSessionResources: SessionResources {
    private let cookieStorages: Present<PostgresCookieStorage>
    private let credentialStorages = Present<PostgresCredentialStorage>()
    private let caches = Present<PostgresResponseCache>()
    private let memories = Present<AnswerMemory>()
    private let keys: TenantKeys
    private let cookieTable: CookieTable
    private let credentialTable: CredentialTable
    /// Writes down the uses of credentials.
    package let credentialUses: CredentialUses
    private let cacheTable: CacheTable
    private let answerTable: RememberedAnswerTable
    private let onRepeat: @Sendable (Question.Kind) -> Void
    /// Does the work of the caches that no load waits for.
    package let cacheEvictor: CacheEvictor
    private let logger: Logger

    /// - Parameters:
    ///   - node: This process.
    ///   - peers: Whether there are others.
    ///   - blobs: Where large cached answers lie.
    ///   - cache: How much is cached.
    ///   - audit: Where the use of credentials is noted.
    ///   - onRepeat: Hears of each answer that a session gives again.
    package init(
        client: Client,
        keys: TenantKeys,
        node: Node.ID,
        peers: Peers,
        blobs: any BlobStore,
        cache: CacheEvictor.Configuration = CacheEvictor.Configuration(),
        audit: (any AuditLog)? = nil,
        onRepeat: @escaping @Sendable (Question.Kind) -> Void = { _ in },
        logger: Logger
    ) {
        self.keys = keys
        self.onRepeat = onRepeat
        answerTable = RememberedAnswerTable(client: client)
        cacheTable = CacheTable(client: client)
        cacheEvictor = CacheEvictor(
            cache, table: cacheTable, node: node, peers: peers, blobs: blobs, logger: logger)
        let cookieStorages = Present<PostgresCookieStorage>()
        self.cookieStorages = cookieStorages
        self.logger = logger
        cookieTable = CookieTable(client: client, keys: keys) { session, version, changes in
            cookieStorages[session]?.committed(version, changes)
        }
        credentialTable = CredentialTable(client: client, keys: keys)
        credentialUses = CredentialUses(client: client, audit: audit, logger: logger)
    }

    package func cookieStorage(of session: SessionAddress) -> any CookieStorage { sharedCookies(of: session) }

    package func credentialStorage(of session: SessionAddress) -> any CredentialStorage {
        sharedCredentials(of: session)
    }

    package nonisolated(nonsending) func holdsIdentities(of session: SessionAddress) async -> Bool {
        await sharedCredentials(of: session).holdsIdentities()
    }

    package nonisolated(nonsending) func id(
        of credential: Credential, for space: ProtectionSpace, in session: SessionAddress
    ) async -> StoredCredential.ID? {
        await sharedCredentials(of: session).id(of: credential, for: space)
    }

    package func openCredential(
        _ id: StoredCredential.ID,
        of tenant: Tenant.ID,
        for job: Job.ID?
    ) async throws(StoreError) -> (credential: Credential, space: ProtectionSpace)? {
        try await StoreError.wrap {
            guard let entry = try await credentialTable.find(id, of: tenant) else { return nil }
            credentialUses.note(.init(tenant: tenant, credential: id, job: job, space: entry.stored.space.json))
            return (try await credentialTable.open(entry, of: tenant), entry.stored.space)
        }
    }

    package func cache(of session: SessionAddress) -> any ResponseCache {
        caches.find(session) {
            PostgresResponseCache(
                of: session, in: cacheTable, evictor: cacheEvictor, selectionKey: keys.selectionKey(of: session.tenant))
        }
    }

    package func answerMemory(of session: SessionAddress) -> AnswerMemory {
        memories.find(session) {
            AnswerMemory(onUse: onRepeat) { [answerTable] in try await answerTable.read(session) }
        }
    }

    package func require(_ version: StoresVersion, of session: SessionAddress) {
        cookieStorages[session]?.require(version.cookies)
        credentialStorages[session]?.require(version.credentials)
        caches[session]?.require(version.cache)
        memories[session]?.require(version.answers)
    }

    private func sharedCookies(of session: SessionAddress) -> PostgresCookieStorage {
        cookieStorages.find(session) { PostgresCookieStorage(of: session, in: cookieTable) }
    }

    private func sharedCredentials(of session: SessionAddress) -> PostgresCredentialStorage {
        credentialStorages.find(session) {
            PostgresCredentialStorage(of: session, in: credentialTable, noting: credentialUses, logger: logger)
        }
    }
}

/// The storages in memory here; they go with the last session of the engine that uses them.
private final class Present<Storage: AnyObject & Sendable>: Sendable {
    private struct Reference {
        weak var storage: Storage?
    }

    private let references = Mutex<[SessionAddress: Reference]>([:])

    subscript(session: SessionAddress) -> Storage? { references.withLock { $0[session]?.storage } }

    func find(_ session: SessionAddress, orElse make: () -> Storage) -> Storage {
        references.withLock { references in
            if let storage = references[session]?.storage { return storage }
            if references.count > 1000 { references = references.filter { $0.value.storage != nil } }
            let storage = make()
            references[session] = Reference(storage: storage)
            return storage
        }
    }
}

extension PostgresSessionResources: CookieCatalog {
    package func cookies(of session: SessionAddress) async throws(StoreError) -> [Cookie] {
        try await StoreError.wrap {
            let storage = sharedCookies(of: session)
            try await storage.refresh()
            return try await storage.withJar { $0.cookies(at: .now) }
        }
    }

    package func set(_ cookies: [Cookie], in session: SessionAddress) async throws(StoreError) {
        try await StoreError.wrap {
            let storage = sharedCookies(of: session)
            try await storage.refresh()
            try await storage.withJar { jar in
                // Only a policy that takes none refuses cookies of a program, as documented.
                for cookie in cookies { try? jar.set(cookie, at: .now) }
            }
        }
    }

    package func remove(_ cookies: [Cookie], from session: SessionAddress) async throws(StoreError) {
        try await StoreError.wrap {
            let storage = sharedCookies(of: session)
            try await storage.refresh()
            try await storage.withJar { jar in cookies.forEach { jar.remove($0) } }
        }
    }
}

extension PostgresSessionResources: CredentialCatalog {
    package func credentials(of session: SessionAddress) async throws(StoreError) -> [StoredCredential] {
        try await StoreError.wrap { try await credentialTable.read(session).entries.map(\.stored) }
    }

    package func credential(
        _ id: StoredCredential.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> StoredCredential? {
        try await StoreError.wrap { try await credentialTable.find(id, of: tenant)?.stored }
    }

    package func add(
        _ submission: CredentialSubmission,
        to tenant: Tenant.ID
    ) async throws(StoreError) -> StoredCredential {
        let session = SessionAddress(tenant: tenant, session: submission.session)
        return try await StoreError.wrap {
            let put = try await credentialTable.put(
                submission.credential, for: submission.space, in: session, asDefault: submission.isDefault)
            guard let put, let stored = try await credentialTable.find(put.id, of: tenant)?.stored else {
                throw StoreError(.failed, "The credential was not stored.")
            }
            return stored
        }
    }

    package func remove(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap { try await credentialTable.remove(id, of: tenant) != nil }
    }

    package func removeCredentials(of session: SessionAddress) async throws(StoreError) -> Int {
        try await StoreError.wrap { try await credentialTable.removeAll(of: session)?.count ?? 0 }
    }

    package func uses(
        of credential: StoredCredential.ID?,
        tenant: Tenant.ID,
        after use: CredentialUse.ID?,
        limit: Int
    ) async throws(StoreError) -> [CredentialUse] {
        try await StoreError.wrap {
            try await credentialUses.list(of: credential, tenant: tenant, after: use, limit: limit)
        }
    }
}

extension PostgresSessionResources: AnswerCatalog {
    package func rememberedAnswers(of session: SessionAddress) async throws(StoreError) -> [RememberedAnswer] {
        try await StoreError.wrap { try await answerTable.read(session).answers }
    }

    package func forget(_ question: Question.ID?, of session: SessionAddress) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            guard let removed = try await answerTable.remove(question, of: session) else { return 0 }
            memories[session]?.require(removed.version)
            return removed.count
        }
    }
}

extension PostgresSessionResources: CacheStore {
    package func answers(
        _ filter: CacheFilter,
        of tenant: Tenant.ID,
        after position: CachePosition?,
        limit: Int
    ) async throws(StoreError) -> [CachedAnswer] {
        try await StoreError.wrap { try await cacheTable.list(filter, of: tenant, after: position, limit: limit) }
    }

    package func body(of answer: CachedAnswer, tenant: Tenant.ID) async throws(StoreError) -> StoredBody.Location? {
        try await StoreError.wrap { try await cacheTable.body(of: CachePosition(answer), tenant: tenant) }
    }

    package func put(_ submission: CacheSubmission, of tenant: Tenant.ID) async throws(StoreError) -> CachePutting {
        let limit = cacheEvictor.maximumBytes(for: submission.answer.storagePolicy)
        guard limit > 0, submission.answer.data.count <= limit else { return .tooLarge(limit: limit) }
        let cache = cache(of: SessionAddress(tenant: tenant, session: submission.session))
        let entry = await cache.store(submission.answer, for: submission.request)
        var filter = CacheFilter(session: submission.session)
        filter.answer = entry.map { CachedAnswer(session: submission.session, entry: $0, tags: []).id }
        // A cache that cannot be reached reports nothing; so the stored entry is looked up.
        guard entry != nil, let stored = try await answers(filter, of: tenant, after: nil, limit: 1).first else {
            throw StoreError(.unavailable, "The answer was not stored.")
        }
        return .stored(stored)
    }

    package func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            let (count, blobs) = try await cacheTable.purge(filter, of: tenant)
            if !blobs.isEmpty { cacheEvictor.send(.delete(blobs)) }
            return count
        }
    }
}
