/// Which files a disk cache has, and in which order they were used.
struct CacheIndex {
    var capacity: Int64
    /// Whether the directory has been looked through.
    var isComplete = false
    private var recency = RecencyList<String>()
    private var namesByPrefix: [Substring: [String]] = [:]

    init(capacity: Int64) { self.capacity = max(0, capacity) }

    /// How many bytes the files have.
    var usage: Int64 { recency.cost }

    var names: [String] { namesByPrefix.values.flatMap { $0 } }

    /// The file to remove next, as long as there are more bytes than there may be.
    var surplus: String? { usage > capacity ? recency.oldest : nil }

    func names(for prefix: Substring) -> [String] { namesByPrefix[prefix] ?? [] }

    mutating func use(_ name: String) { recency.use(name) }

    mutating func set(_ name: String, size: Int64) {
        if !recency.contains(name) { namesByPrefix[CacheFileName.prefix(of: name), default: []].append(name) }
        recency.set(name, cost: size)
    }

    mutating func remove(_ name: String) {
        recency.remove(name)
        let prefix = CacheFileName.prefix(of: name)
        namesByPrefix[prefix]?.removeAll { $0 == name }
        if namesByPrefix[prefix]?.isEmpty == true { namesByPrefix[prefix] = nil }
    }

    mutating func removeAll() { self = CacheIndex(capacity: capacity) }
}

/// The file names of entries: a digest of the key, and one of the selection.
enum CacheFileName {
    static func name(of entry: CacheEntry) -> String {
        var writer = ByteWriter()
        for name in entry.selection.names { writer.append(name) }
        writer.append(entry.selection.digest)
        return prefix(for: entry.key) + "-" + Hexadecimal.text(ContentDigest.sha256.digest(of: writer.bytes).prefix(8))
    }

    /// The beginning of the file names of all entries of a key.
    static func prefix(for key: CacheKey) -> Substring {
        var writer = ByteWriter()
        writer.append(key.method)
        writer.append(key.url)
        return Substring(Hexadecimal.text(ContentDigest.sha256.digest(of: writer.bytes).prefix(16)))
    }

    static func prefix(of name: String) -> Substring { name.prefix(32) }
}
