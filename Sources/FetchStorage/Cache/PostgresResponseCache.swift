import FetchEngine
import FetchJobs
import Synchronization

/// The cached answers of one session, as all nodes share them.
///
/// A node has those it used last in memory. When a job shows that another node has removed or replaced something, each
/// is looked up once more before it is used again.
final class PostgresResponseCache: SharedResponseCache {
    private let session: SessionAddress
    private let table: CacheTable
    private let evictor: CacheEvictor
    private let tier: Mutex<CacheTier>

    let selectionKey: [UInt8]?

    init(of session: SessionAddress, in table: CacheTable, evictor: CacheEvictor, selectionKey: [UInt8]) {
        self.session = session
        self.selectionKey = selectionKey
        self.table = table
        self.evictor = evictor
        tier = Mutex(CacheTier(room: evictor.room))
    }

    deinit { tier.withLock { $0.removeAll() } }

    /// Answers later requests from this version, or a newer one.
    func require(_ version: Int64) { tier.withLock { $0.require(version) } }

    // MARK: Reading

    nonisolated(nonsending) func entries(for key: CacheKey, selectedBy request: Request) async -> [CacheEntry] {
        let (near, ticket) = tier.withLock { $0.entries(for: key, selectedBy: request) }
        guard let ticket else { return near }
        let entries = await evictor.reaching { [table, session] in try await table.entries(for: key, of: session) }
        guard let entries else { return ticket.isConfirmed ? near : [] }
        return tier.withLock { $0.take(entries, for: key, ticket) }
    }

    nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody? {
        if let bytes = tier.withLock({ $0.body(of: entry) }) { return .bytes(bytes) }
        let stored = await evictor.reaching { [table, session] in
            try await table.entries(for: entry.key, of: session).first { $0.entry.id == entry.id }
        }
        switch stored??.body {
        case nil: return nil
        case .bytes(let bytes): return .bytes(bytes)
        case .blob(let id):
            let reader = await evictor.reaching { [evictor] in
                try await evictor.blobs.open(id, range: 0..<entry.bodyLength)
            }
            return reader.map { .stream(BlobBody($0)) }
        }
    }

    // MARK: Writing

    var maximumEntryBytes: Int64 { evictor.maximumBytes(for: .allowed) }

    nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)? {
        let limit = evictor.maximumBytes(for: entry.storagePolicy)
        guard limit > 0, entry.bodyLength <= limit else { return nil }
        return CacheBodyWriter(limit: limit, policy: entry.storagePolicy, evictor: evictor) { [self] in
            await store($0, $1)
        }
    }

    /// Stores an entry whose body has come whole.
    private nonisolated(nonsending) func store(_ entry: CacheEntry, _ body: CacheTable.Body) async {
        switch (entry.storagePolicy, body) {
        case (.notAllowed, .bytes): return
        case (.allowedInMemoryOnly, .bytes(let bytes)): tier.withLock { $0.keep(entry, bytes) }
        case (.notAllowed, .blob(let id)), (.allowedInMemoryOnly, .blob(let id)): evictor.send(.delete([id]))
        case (.allowed, _):
            #if DEBUG
                CrashPoint.cacheWhole.pass()
            #endif
            let change = await evictor.reaching { [table, session] in
                try await table.storing.submit([CacheTable.Storing(entry, body, in: session)]).first
            }
            guard case .some(.some(let change)) = change else { return }
            #if DEBUG
                CrashPoint.cacheCommitted.pass()
            #endif
            committed(change) { tier in
                if case .bytes(let bytes) = body, !change.isRefused { tier.keep(entry, bytes) }
            }
            evictor.noteStored(entry.cost, of: session.tenant)
        }
    }

    nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async {
        guard entry.storagePolicy == .allowed else {
            tier.withLock { $0.change { _ = $0.refresh(entry, replacing: id) } }
            return
        }
        let item = CacheTable.Refreshing(
            place: CacheTable.Place(entry.key, of: session), entry: entry.withoutCookies, old: id)
        let change = await evictor.reaching { [table] in try await table.refreshing.submit([item]).first }
        guard case .some(.some(let change)) = change else { return }
        committed(change) { tier in tier.change { _ = $0.refresh(entry, replacing: id) } }
    }

    /// A write of this node is in the database.
    private func committed(_ change: CacheTable.Change, apply: @Sendable (inout CacheTier) -> Void) {
        tier.withLock { tier in
            apply(&tier)
            tier.committed(change.version)
        }
        if !change.blobs.isEmpty { evictor.send(.delete(change.blobs)) }
    }

    // MARK: Forgetting

    nonisolated(nonsending) func remove(_ entry: CacheEntry) async {
        await remove({ $0.remove(entry) }) { [table, session] in try await table.remove(.version(entry), of: session) }
    }

    nonisolated(nonsending) func removeEntries(for key: CacheKey) async {
        await remove({ $0.removeEntries(for: key) }) { [table, session] in
            try await table.removing.submit([CacheTable.Place(key, of: session)]).first ?? CacheTable.Change()
        }
    }

    nonisolated(nonsending) func removeEntries(since time: UnixTime) async {
        await remove({ $0.removeEntries(since: time) }) { [table, session] in
            try await table.remove(.since(time), of: session)
        }
    }

    nonisolated(nonsending) func removeAllEntries() async {
        await remove({ $0.removeAll() }) { [table, session] in try await table.remove(.all, of: session) }
    }

    private nonisolated(nonsending) func remove(
        _ forget: @Sendable (inout MemoryTier) -> Void,
        elsewhere: nonisolated(nonsending) () async throws -> CacheTable.Change
    ) async {
        let isEmpty = tier.withLock { tier in
            tier.change(forget)
            return tier.isEmptyElsewhere
        }
        // Nothing of the session was ever stored: a change without effect costs nothing.
        guard !isEmpty else { return }
        let change = await evictor.reaching(elsewhere)
        if let change { committed(change) { _ in } }
    }

    // MARK: Turns

    var isShared: Bool { evictor.hasOtherNodes }

    nonisolated func turn(for key: CacheKey, within limit: Duration) async -> (any CacheTurn)? {
        let place = CacheTable.Place(key, of: session)
        let turn = await evictor.reaching { [evictor] in try await evictor.turns.take(place, within: limit) }
        // Another node may have stored it since this one knew of nothing.
        tier.withLock { $0.expect(key) }
        return turn ?? nil
    }
}

/// A cached body in the blob store.
private final class BlobBody: CachedBodyReader {
    private let reader: any BlobReader

    init(_ reader: any BlobReader) { self.reader = reader }

    nonisolated(nonsending) func next() async throws(LoadError) -> [UInt8]? {
        do { return try await reader.next() } catch {
            throw LoadError(.resourceUnavailable, "The stored answer cannot be read.")
        }
    }
}
