import EventLoop

/// An answer on its way into the cache while the load delivers it.
///
/// With a delegate to be asked it is gathered in memory, for the delegate may change it or forbid it; otherwise it goes
/// to the cache as it comes. Whatever ends the load before the last byte drops this, and nothing is stored.
// Touched on the loop's thread alone.
final class AnswerStoring {
    let entry: CacheEntry
    let cache: any ResponseCache
    private let teller: (any TaskDelegate)?
    private let lease: CacheLease?
    private let limit: Int64
    private var count: Int64 = 0
    private var writer: (any CacheWriter)?
    private var gathered: [UInt8] = []

    /// - Parameters:
    ///   - limit: The most bytes a body may have that is stored.
    ///   - lease: Others wait for what is stored.
    init(
        _ entry: CacheEntry, in cache: any ResponseCache, upTo limit: Int64, asking teller: (any TaskDelegate)?,
        lease: CacheLease?
    ) {
        self.entry = entry
        self.cache = cache
        self.limit = limit
        self.teller = teller
        self.lease = lease
        lease?.flight.noteProgress(at: .now)
    }

    /// Takes the next bytes of the body; false when nothing will be stored.
    nonisolated(nonsending) func take(_ bytes: [UInt8]) async -> Bool {
        guard !bytes.isEmpty else { return true }
        lease?.flight.noteProgress(at: .now)
        count += Int64(bytes.count)
        guard count <= limit else { return false }
        if teller != nil {
            if gathered.isEmpty { gathered = bytes } else { gathered += bytes }
            return true
        }
        if writer == nil { writer = await cache.writer(for: entry) }
        return await writer?.append(bytes) ?? false
    }

    /// Stores the whole, as the delegate wants it.
    func finish(for task: SessionTask, response: Response, isolation: isolated TransferLoop) async throws(LoadError) {
        guard let teller else {
            if writer == nil { writer = await cache.writer(for: entry) }
            await writer?.commit(entry)
            return
        }
        let proposed = CachedResponse(
            response: response, data: gathered, userInfo: entry.userInfo, storagePolicy: entry.storagePolicy)
        let answer = try await task.load.answer(isolation: isolation) {
            await teller.task(task, willCache: proposed)
        }
        if let answer { await cache.store(answer, as: entry) }
    }
}
