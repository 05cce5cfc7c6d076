import Synchronization

/// A cache in memory, which ends with the process.
///
/// When it is full, the entries used least recently go first.
///
/// ```swift
/// configuration.urlCache = MemoryResponseCache(capacity: 64 << 20)
/// ```
public final class MemoryResponseCache: ResponseCache {
    private let tier: Mutex<MemoryTier>
    private let fraction: Double

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: How many bytes it holds, bodies and fields; 16 MiB by default.
    ///   - maximumEntryFraction: The part of it that one body may take at most; 0.05 by default.
    public init(capacity: Int64 = 16 * 1024 * 1024, maximumEntryFraction: Double = 0.05) {
        tier = Mutex(MemoryTier(capacity: capacity))
        fraction = min(max(maximumEntryFraction, 0), 1)
    }

    /// How many bytes it may hold; making it smaller removes the surplus.
    public var memoryCapacity: Int64 {
        get { tier.withLock { $0.capacity } }
        set { tier.withLock { $0.setCapacity(newValue) } }
    }

    /// How many bytes it holds.
    public var currentMemoryUsage: Int64 { tier.withLock { $0.usage } }

    /// The most bytes a body may have that is stored.
    public var maximumEntryBytes: Int64 { Int64(Double(memoryCapacity) * fraction) }

    /// The entries stored for a key.
    public nonisolated(nonsending) func entries(
        for key: CacheKey, selectedBy request: Request
    ) async -> [CacheEntry] { tier.withLock { $0.entries(for: key) } }

    /// The body of an entry, or nil when that version of it is no longer there.
    public nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody? {
        tier.withLock { $0.body(of: entry) }.map { .bytes($0) }
    }

    /// Begins to store an entry; nil when it will not be stored.
    public nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)? {
        guard entry.bodyLength <= maximumEntryBytes else { return nil }
        return MemoryCacheWriter(limit: maximumEntryBytes) { [weak self] entry, body in
            guard entry.storagePolicy != .notAllowed else { return }
            self?.tier.withLock { $0.store(entry, body: body) }
        }
    }

    /// Stores the entry with the body of another version, unless that is no longer there.
    public nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async {
        tier.withLock { _ = $0.refresh(entry, replacing: id) }
    }

    /// Forgets a version of an entry.
    public nonisolated(nonsending) func remove(_ entry: CacheEntry) async { tier.withLock { $0.remove(entry) } }

    /// Forgets everything stored for a key.
    public nonisolated(nonsending) func removeEntries(for key: CacheKey) async {
        tier.withLock { $0.removeEntries(for: key) }
    }

    /// Forgets everything that came at that time or later.
    public nonisolated(nonsending) func removeEntries(since time: UnixTime) async {
        tier.withLock { $0.removeEntries(since: time) }
    }

    /// Forgets everything.
    public nonisolated(nonsending) func removeAllEntries() async { tier.withLock { $0.removeAll() } }
}

/// Gathers a body in memory.
final class MemoryCacheWriter: CacheWriter {
    private let limit: Int64
    private let store: @Sendable (CacheEntry, [UInt8]) -> Void
    private let gathered = Mutex<[UInt8]?>([])

    init(limit: Int64, store: @escaping @Sendable (CacheEntry, [UInt8]) -> Void) {
        self.limit = limit
        self.store = store
    }

    nonisolated(nonsending) func append(_ bytes: [UInt8]) async -> Bool {
        gathered.withLock { gathered in
            if Int64((gathered?.count ?? 0) + bytes.count) > limit { gathered = nil }
            gathered?.append(contentsOf: bytes)
            return gathered != nil
        }
    }

    nonisolated(nonsending) func commit(_ entry: CacheEntry) async {
        guard let body = gathered.withLock({ $0.take() }) else { return }
        var entry = entry
        entry.bodyLength = Int64(body.count)
        store(entry, body)
    }
}
