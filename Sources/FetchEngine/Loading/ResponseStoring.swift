import EventLoop

/// A response on its way into the cache while the load delivers it.
///
/// When a delegate decides about it, the body is gathered in memory, because the delegate may change it or forbid its
/// storage; otherwise it goes to the cache as it comes. When the load ends before the last byte, this is dropped, and
/// nothing is stored.
// Touched on the loop's thread alone.
final class ResponseStoring {
    let entry: CacheEntry
    let cache: any ResponseCache
    private let asks: Bool
    private let lease: CacheLease?
    private let limit: Int64
    private var count: Int64 = 0
    private var writer: (any CacheWriter)?
    private var gathered: [UInt8] = []

    /// - Parameters:
    ///   - limit: The most bytes a body may have that is stored.
    ///   - asks: Whether a delegate decides about the response.
    ///   - lease: Others wait for the stored response.
    init(_ entry: CacheEntry, in cache: any ResponseCache, upTo limit: Int64, asks: Bool, lease: CacheLease?) {
        self.entry = entry
        self.cache = cache
        self.limit = limit
        self.asks = asks
        self.lease = lease
        lease?.flight.noteProgress(at: .now)
    }

    /// Takes the next bytes of the body; false when nothing will be stored.
    nonisolated(nonsending) func take(_ bytes: [UInt8]) async -> Bool {
        guard !bytes.isEmpty else { return true }
        lease?.flight.noteProgress(at: .now)
        count += Int64(bytes.count)
        guard count <= limit else { return false }
        if asks {
            if gathered.isEmpty { gathered = bytes } else { gathered += bytes }
            return true
        }
        if writer == nil { writer = await cache.writer(for: entry) }
        return await writer?.append(bytes) ?? false
    }

    /// Stores the complete response, as the adviser and the delegate want it.
    func finish(_ response: Response, of load: Load, on loop: isolated TransferLoop) async throws(LoadError) {
        var (entry, data) = (entry, [UInt8]?.none)
        let advice = try await load.advice(on: .caching, on: loop) {
            .caching(response, bodyBytes: count, entry.storagePolicy)
        }
        if case .caching(let answer) = advice {
            guard case .store(let userInfo, let policy, let other) = answer else { return }
            if let userInfo { entry.userInfo = userInfo }
            if let policy, !policy.isLaxer(than: entry.storagePolicy) { entry.storagePolicy = policy }
            data = other
        }
        guard asks else {
            if let data { return await store(data, as: entry, response) }
            if writer == nil { writer = await cache.writer(for: entry) }
            await writer?.commit(entry)
            return
        }
        guard let client = load.client else { return }
        let proposed = CachedResponse(
            response: response, data: data ?? gathered, userInfo: entry.userInfo, storagePolicy: entry.storagePolicy)
        let stored = try await load.answer(on: loop) { await client.responseToCache(proposed) }
        if let stored { await cache.store(stored, as: entry) }
    }

    /// Stores another body in place of the one that came.
    private nonisolated(nonsending) func store(_ data: [UInt8], as entry: CacheEntry, _ response: Response) async {
        writer = nil
        let changed = CachedResponse(
            response: response, data: data, userInfo: entry.userInfo, storagePolicy: entry.storagePolicy)
        await cache.store(changed, as: entry)
    }
}
