/// Entries and their bodies in memory, those used least recently forgotten first.
package struct MemoryTier {
    struct Stored {
        var entry: CacheEntry
        var body: [UInt8]
    }

    /// So many answers of one URL are kept apart by `Vary`.
    package static let maximumVariants = 16

    package private(set) var capacity: Int64
    /// How many entries have gone for the room of others.
    package private(set) var evictions = 0
    private var entries: [CacheKey: [Stored]] = [:]
    private var recency = RecencyList<CacheEntry.ID>()
    private var keys: [CacheEntry.ID: CacheKey] = [:]

    package init(capacity: Int64) { self.capacity = max(0, capacity) }

    /// How many bytes it holds.
    package var usage: Int64 { recency.cost }

    package func entries(for key: CacheKey) -> [CacheEntry] { entries[key]?.map(\.entry) ?? [] }

    /// The body of a version of an entry; a use of it.
    package mutating func body(of entry: CacheEntry) -> [UInt8]? {
        guard let stored = entries[entry.key]?.first(where: { $0.entry.id == entry.id }) else { return nil }
        recency.use(entry.id)
        return stored.body
    }

    /// Stores an entry in place of the one that the same requests select.
    ///
    /// When the resource varies by other fields than before, the entries with the old fields are removed.
    package mutating func store(_ entry: CacheEntry, body: [UInt8]) {
        for old in entries[entry.key] ?? [] where entry.supersedes(old.entry) { remove(old.entry) }
        while let variants = entries[entry.key], variants.count >= Self.maximumVariants {
            remove(variants[0].entry)
        }
        entries[entry.key, default: []].append(Stored(entry: entry, body: body))
        keys[entry.id] = entry.key
        recency.set(entry.id, cost: entry.cost)
        evict()
    }

    /// Stores an entry with the body of an older version of it; false when that is gone.
    package mutating func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) -> Bool {
        guard let old = entries[entry.key]?.first(where: { $0.entry.id == id }) else { return false }
        remove(old.entry)
        store(entry, body: old.body)
        return true
    }

    package mutating func remove(_ entry: CacheEntry) {
        guard keys.removeValue(forKey: entry.id) != nil else { return }
        recency.remove(entry.id)
        entries[entry.key]?.removeAll { $0.entry.id == entry.id }
        if entries[entry.key]?.isEmpty == true { entries[entry.key] = nil }
    }

    package mutating func removeEntries(for key: CacheKey) { for stored in entries[key] ?? [] { remove(stored.entry) } }

    package mutating func removeEntries(since time: UnixTime) {
        for stored in entries.values.joined() where stored.entry.responseTime >= time { remove(stored.entry) }
    }

    package mutating func removeAll() {
        entries.removeAll()
        recency.removeAll()
        keys.removeAll()
    }

    package mutating func setCapacity(_ capacity: Int64) {
        self.capacity = max(0, capacity)
        evict()
    }

    private mutating func evict() {
        while recency.cost > capacity, let id = recency.oldest {
            guard let key = keys[id], let stored = entries[key]?.first(where: { $0.entry.id == id }) else {
                recency.remove(id)
                continue
            }
            remove(stored.entry)
            evictions += 1
        }
    }
}

extension CacheEntry {
    /// Whether storing this entry ends the other one, which has the same key.
    func supersedes(_ old: CacheEntry) -> Bool {
        selection == old.selection || selection.variedNames != old.selection.variedNames
    }
}

extension CacheSelection {
    /// The names in `Vary`, except the one that an authenticated request adds by itself.
    package var variedNames: [String] { names.filter { $0 != "authorization" } }
}
