import FetchEngine
import Synchronization

/// The entries of one session's cache in the memory of this node, and when they are used without asking the database.
struct CacheTier {
    /// A look into the database that is due.
    struct Ticket {
        /// The number of writes here when it began; the look may not have seen later ones.
        fileprivate let writes: Int
        fileprivate let epoch: Int
        /// Nobody else is known to have changed the entries in memory.
        let isConfirmed: Bool
    }

    private struct Confirmation {
        let epoch: Int
        let time: ContinuousClock.Instant
    }

    /// How long an entry is used without looking, so that the database learns which are in use.
    private static let trust = Duration.seconds(60)
    private static let maximumConfirmations = 20_000

    private let room: CacheRoom
    private var memory: MemoryTier
    private var confirmed: [CacheKey: Confirmation] = [:]
    /// The keys for which another node may have stored something that the version does not show yet.
    private var expected: Set<CacheKey> = []
    /// The newest version that this node has heard of; zero as long as nothing was ever stored.
    private var version: Int64 = 0
    /// Counts how often others have changed something.
    private var epoch = 0
    /// Counts the changes made here, and those of others that this node heard of.
    private var writes = 0

    init(room: CacheRoom) {
        self.room = room
        memory = MemoryTier(capacity: room.perSession)
    }

    /// Nothing is stored in the database.
    var isEmptyElsewhere: Bool { version == 0 }

    // MARK: Versions

    mutating func require(_ version: Int64) {
        guard version > self.version else { return }
        self.version = version
        epoch += 1
        writes += 1
    }

    /// A write of this node has made this version, or has changed nothing that other nodes must know.
    mutating func committed(_ version: Int64?) {
        writes += 1
        guard let version else {
            self.version = max(self.version, 1)
            return
        }
        guard version > self.version else { return }
        // Somebody else has written in between.
        if version > self.version + 1 { epoch += 1 }
        self.version = version
    }

    mutating func expect(_ key: CacheKey) { expected.insert(key) }

    // MARK: Reading

    /// The entries in memory for a key, and the look into the database that is due; nil when none is.
    mutating func entries(for key: CacheKey, selectedBy request: Request) -> ([CacheEntry], Ticket?) {
        let near = memory.entries(for: key)
        let isExpected = expected.contains(key)
        guard version > 0 || isExpected else { return (near, nil) }
        let confirmation = confirmed[key]
        let isConfirmed = confirmation?.epoch == epoch
        if isConfirmed, !isExpected, let confirmation, ContinuousClock.now - confirmation.time < Self.trust,
            near.contains(where: { $0.selection.matches(request.headerFields) })
        {
            return (near, nil)
        }
        return (near, Ticket(writes: writes, epoch: epoch, isConfirmed: isConfirmed))
    }

    /// Takes over the database's entries for a key, and returns the present ones.
    mutating func take(_ entries: [CacheTable.StoredEntry], for key: CacheKey, _ ticket: Ticket) -> [CacheEntry] {
        expected.remove(key)
        if !entries.isEmpty { version = max(version, 1) }
        guard writes == ticket.writes else { return entries.map(\.entry) }
        let ids = Set(entries.map(\.entry.id))
        // Entries for the memory alone are not in the database either.
        for entry in memory.entries(for: key)
        where !ids.contains(entry.id) && !(ticket.isConfirmed && entry.storagePolicy == .allowedInMemoryOnly) {
            apply { $0.remove(entry) }
        }
        let kept = Set(memory.entries(for: key).map(\.id))
        for stored in entries where !kept.contains(stored.entry.id) {
            if case .bytes(let bytes) = stored.body { put(stored.entry, bytes) }
        }
        confirm(key)
        let near = memory.entries(for: key)
        let nearIDs = Set(near.map(\.id))
        return near + entries.map(\.entry).filter { !nearIDs.contains($0.id) }
    }

    mutating func body(of entry: CacheEntry) -> [UInt8]? { memory.body(of: entry) }

    // MARK: Writing

    /// Keeps an entry that is new.
    mutating func keep(_ entry: CacheEntry, _ body: [UInt8]) {
        writes += 1
        put(entry, body)
        confirm(entry.key)
    }

    mutating func change(_ body: (inout MemoryTier) -> Void) {
        writes += 1
        apply(body)
    }

    private mutating func put(_ entry: CacheEntry, _ body: [UInt8]) {
        // A session makes room with its own entries when the others have taken the rest.
        let capacity = min(room.perSession, memory.usage + room.free)
        guard entry.cost <= capacity else { return }
        apply { memory in
            memory.setCapacity(capacity)
            memory.store(entry, body: body)
        }
    }

    /// Leaves the room to others.
    mutating func removeAll() { change { $0.removeAll() } }

    private mutating func apply(_ body: (inout MemoryTier) -> Void) {
        let (before, evictions) = (memory.usage, memory.evictions)
        body(&memory)
        room.take(memory.usage - before)
        room.noteEvicted(memory.evictions - evictions)
    }

    private mutating func confirm(_ key: CacheKey) {
        if confirmed.count >= Self.maximumConfirmations {
            confirmed = confirmed.filter { [memory] in !memory.entries(for: $0.key).isEmpty }
        }
        confirmed[key] = Confirmation(epoch: epoch, time: .now)
    }
}

/// The memory that the caches of a node share.
final class CacheRoom: Sendable {
    private let capacity: Int64
    private let used = Atomic<Int64>(0)
    private let evicted = Atomic<Int>(0)

    init(capacity: Int64) { self.capacity = capacity }

    /// The most that one session's cache has.
    var perSession: Int64 { capacity / 8 }

    var free: Int64 { max(0, capacity - used.load(ordering: .relaxed)) }

    /// How much all of them have.
    var bytes: Int64 { max(0, used.load(ordering: .relaxed)) }

    /// How many entries have gone for the room of others.
    var evictions: Int { evicted.load(ordering: .relaxed) }

    func noteEvicted(_ count: Int) {
        if count > 0 { evicted.add(count, ordering: .relaxed) }
    }

    func take(_ bytes: Int64) { used.add(bytes, ordering: .relaxed) }
}
