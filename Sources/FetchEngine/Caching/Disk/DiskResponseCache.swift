import EventLoop
import Synchronization

/// A cache on disk, with the answers used last in memory as well.
///
/// It outlives the process. Several caches, of several processes too, may use one directory: each counts the files of
/// the others now and then, so together they may exceed the capacity for a while. Writing to disk happens behind the
/// loads; ``flush()`` waits for it.
public final class DiskResponseCache: ResponseCache {
    /// A change that is not yet made on the disk; changes are made in order.
    private enum Change {
        case store(CacheEntry, [UInt8])
        case refresh(CacheEntry, CacheEntry.ID)
        case remove(CacheEntry)
        case removeKey(CacheKey)
    }

    private struct Backlog {
        var changes: [Change] = []
        var bytes: Int64 = 0
        var isBeingApplied = false
    }

    /// More than this much is not kept in memory to be written later.
    private static let backlogLimit: Int64 = 8 * 1024 * 1024

    private let tier: Mutex<MemoryTier>
    let directory: CacheDirectory
    private let backlog = Mutex(Backlog())
    private let fraction: Double

    /// Makes a cache in a directory, which is made when it is not there.
    ///
    /// - Parameters:
    ///   - memoryCapacity: How many bytes are kept in memory; 4 MiB by default.
    ///   - diskCapacity: How many bytes are kept on disk; 256 MiB by default.
    ///   - location: The path of the directory, for this cache and others like it alone.
    ///   - maximumEntryFraction: The part of a capacity that one body may take at most; 0.05 by default.
    public init(
        memoryCapacity: Int64 = 4 * 1024 * 1024, diskCapacity: Int64 = 256 * 1024 * 1024, location: String,
        maximumEntryFraction: Double = 0.05
    ) {
        tier = Mutex(MemoryTier(capacity: memoryCapacity))
        directory = CacheDirectory(path: location, capacity: diskCapacity)
        fraction = min(max(maximumEntryFraction, 0), 1)
    }

    /// How many bytes memory may hold; making it smaller removes the surplus.
    public var memoryCapacity: Int64 {
        get { tier.withLock { $0.capacity } }
        set { tier.withLock { $0.setCapacity(newValue) } }
    }

    /// How many bytes the disk may hold.
    public var diskCapacity: Int64 { directory.capacity }

    /// How many bytes memory holds.
    public var currentMemoryUsage: Int64 { tier.withLock { $0.usage } }

    /// How many bytes the disk holds, as far as it was looked through.
    public var currentDiskUsage: Int64 { directory.usage }

    /// The most bytes a body may have that is stored.
    public var maximumEntryBytes: Int64 { Int64(Double(max(diskCapacity, memoryCapacity)) * fraction) }

    /// Changes how many bytes the disk may hold, and removes the surplus.
    public func setDiskCapacity(_ capacity: Int64) async {
        await settle()
        await directory.setCapacity(capacity)
    }

    /// Returns once everything stored so far is on the disk.
    public func flush() async { await settle() }

    // MARK: Reading

    /// The entries stored for a key, or those of them that are in memory when the request selects one of these.
    public nonisolated(nonsending) func entries(
        for key: CacheKey, selectedBy request: Request
    ) async -> [CacheEntry] {
        let near = tier.withLock { $0.entries(for: key) }
        if near.contains(where: { $0.selection.matches(request.headerFields) }) { return near }
        guard directory.mayHold(key) || hasBacklog else { return near }
        await settle()
        let far = await directory.entries(for: key)
        var entries = tier.withLock { $0.entries(for: key) }
        for (entry, body) in far where !entries.contains(where: { $0.id == entry.id }) {
            entries.append(entry)
            if let body, fitsMemory(Int64(body.count)) { tier.withLock { $0.store(entry, body: body) } }
        }
        return entries
    }

    /// The body of an entry, or nil when that version of it is no longer there.
    public nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody? {
        if let body = tier.withLock({ $0.body(of: entry) }) { return .bytes(body) }
        await settle()
        return await directory.reader(for: entry).map { .stream($0) }
    }

    // MARK: Writing

    /// Begins to store an entry; nil when it will not be stored.
    public nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)? {
        let limit = limit(for: entry.storagePolicy)
        guard entry.bodyLength <= limit, limit > 0 else { return nil }
        guard entry.storagePolicy == .allowed else {
            return MemoryCacheWriter(limit: limit) { [weak self] in self?.keep($0, body: $1) }
        }
        return DiskCacheWriter(limit: limit, cache: self)
    }

    /// Stores the entry with the body of another version, unless that is no longer there.
    public nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async {
        tier.withLock { _ = $0.refresh(entry, replacing: id) }
        if entry.storagePolicy == .allowed { enqueue(.refresh(entry, id)) }
    }

    private func limit(for policy: CachedResponse.StoragePolicy) -> Int64 {
        switch policy {
        case .allowed: maximumEntryBytes
        case .allowedInMemoryOnly: Int64(Double(memoryCapacity) * fraction)
        case .notAllowed: 0
        }
    }

    private func fitsMemory(_ count: Int64) -> Bool { count <= limit(for: .allowedInMemoryOnly) }

    /// Stores an entry whose body is in memory.
    nonisolated(nonsending) func store(_ entry: CacheEntry, body: [UInt8]) async {
        keep(entry, body: body)
        if backlog.withLock({ $0.bytes > Self.backlogLimit }) { await settle() }
    }

    /// Stores an entry whose body is in a file.
    nonisolated(nonsending) func install(_ draft: CacheDraft, as entry: CacheEntry) async {
        tier.withLock { $0.removeEntries(for: entry.key) }
        await settle()
        if entry.storagePolicy == .allowed { await directory.install(draft, as: entry) }
    }

    private func keep(_ entry: CacheEntry, body: [UInt8]) {
        guard entry.storagePolicy != .notAllowed else { return }
        // An older version must not come back from a tier that the new one does not go to.
        if fitsMemory(entry.bodyLength) {
            tier.withLock { $0.store(entry, body: body) }
        } else {
            tier.withLock { $0.removeEntries(for: entry.key) }
        }
        let goesToDisk = entry.storagePolicy == .allowed && entry.bodyLength <= limit(for: .allowed)
        enqueue(goesToDisk ? .store(entry, body) : .removeKey(entry.key))
    }

    // MARK: Forgetting

    /// Forgets a version of an entry.
    public nonisolated(nonsending) func remove(_ entry: CacheEntry) async {
        tier.withLock { $0.remove(entry) }
        enqueue(.remove(entry))
    }

    /// Forgets everything stored for a key.
    public nonisolated(nonsending) func removeEntries(for key: CacheKey) async {
        tier.withLock { $0.removeEntries(for: key) }
        enqueue(.removeKey(key))
    }

    /// Forgets everything that came at that time or later.
    public nonisolated(nonsending) func removeEntries(since time: UnixTime) async {
        tier.withLock { $0.removeEntries(since: time) }
        await settle()
        await directory.removeEntries(since: time)
    }

    /// Forgets everything.
    public nonisolated(nonsending) func removeAllEntries() async {
        tier.withLock { $0.removeAll() }
        await settle()
        await directory.removeAll()
    }

    // MARK: The backlog

    private var hasBacklog: Bool { backlog.withLock { $0.isBeingApplied || !$0.changes.isEmpty } }

    private func enqueue(_ change: Change) {
        let isFirst = backlog.withLock { backlog in
            backlog.changes.append(change)
            if case .store(_, let body) = change { backlog.bytes += Int64(body.count) }
            return backlog.changes.count == 1 && !backlog.isBeingApplied
        }
        guard isFirst else { return }
        CacheDirectory.loop.perform { [self] in directory.assumeIsolated { apply(to: $0) } }
    }

    /// Waits until the disk has everything.
    private nonisolated(nonsending) func settle() async {
        guard hasBacklog else { return }
        await directory.perform { [self] in apply(to: $0) }
    }

    private func apply(to directory: isolated CacheDirectory) {
        while true {
            let changes = backlog.withLock { backlog in
                let changes = backlog.changes
                backlog = Backlog()
                backlog.isBeingApplied = !changes.isEmpty
                return changes
            }
            guard !changes.isEmpty else { return }
            for change in changes { apply(change, to: directory) }
        }
    }

    private func apply(_ change: Change, to directory: isolated CacheDirectory) {
        switch change {
        case .store(let entry, let body): directory.store(entry, body: body)
        case .refresh(let entry, let id): directory.refresh(entry, replacing: id)
        case .remove(let entry): directory.remove(entry)
        case .removeKey(let key): directory.removeEntries(for: key)
        }
    }
}
