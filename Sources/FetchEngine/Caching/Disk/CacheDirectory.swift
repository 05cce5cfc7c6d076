import EventLoop
import Glibc
import Synchronization

/// The files of a disk cache.
///
/// All file operations run on one thread of their own, and none of them fails: a file that cannot be read or written
/// counts as not stored. Other processes may use the same directory; a file gets its final name only when it is whole,
/// and a reader that has opened it keeps it.
actor CacheDirectory {
    /// The thread that waits for disks.
    static let loop = EventLoop(name: "cache")

    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }

    nonisolated let path: String
    /// The index of the files, which any thread may read.
    private nonisolated let index: Mutex<CacheIndex>
    /// Bodies too large to be read for every use, found whole since the start.
    private var verified: Set<CacheEntry.ID> = []
    /// How much was written since the last look at the files of other processes.
    private var writtenSinceScan: Int64 = 0
    private var isLoaded = false

    init(path: String, capacity: Int64) {
        self.path = path
        index = Mutex(CacheIndex(capacity: capacity))
    }

    /// Whether there may be an entry for a key.
    nonisolated func mayHold(_ key: CacheKey) -> Bool {
        index.withLock { !$0.isComplete || !$0.names(for: CacheFileName.prefix(for: key)).isEmpty }
    }

    nonisolated var usage: Int64 { index.withLock { $0.usage } }

    nonisolated var capacity: Int64 { index.withLock { $0.capacity } }

    func setCapacity(_ capacity: Int64) {
        load()
        index.withLock { $0.capacity = max(0, capacity) }
        evict()
    }

    /// Runs an action on the thread.
    func perform(_ action: @Sendable (isolated CacheDirectory) -> Void) { action(self) }

    // MARK: Reading

    /// The entries of a key, each with its body when that is small.
    func entries(for key: CacheKey) -> [(entry: CacheEntry, body: [UInt8]?)] {
        load()
        return names(for: key).compactMap { name in
            guard let (entry, footer, file) = read(name), entry.key == key else { return nil }
            guard footer.bodyLength <= Self.smallBody else { return (entry, nil) }
            guard let body = file.read(at: 0, count: Int(footer.bodyLength)),
                ContentDigest.sha256.digest(of: body) == footer.bodySum
            else {
                remove(name)
                return nil
            }
            use(name, file)
            return (entry, body)
        }
    }

    /// The body of a version of an entry, unless it is gone or damaged.
    func reader(for entry: CacheEntry) -> CacheFileReader? {
        load()
        let name = CacheFileName.name(of: entry)
        guard let (found, footer, file) = read(name), found.id == entry.id else { return nil }
        guard verified.contains(entry.id) || CacheFile.isWhole(file, footer) else {
            remove(name)
            return nil
        }
        if verified.count > 10_000 { verified.removeAll() }
        verified.insert(entry.id)
        use(name, file)
        return CacheFileReader(file, length: footer.bodyLength)
    }

    private static let smallBody: Int64 = 64 * 1024

    private func read(_ name: String) -> (CacheEntry, CacheFile.Footer, CacheDescriptor)? {
        guard let file = CacheDescriptor(path: place(of: name)) else {
            index.withLock { $0.remove(name) }
            return nil
        }
        guard let (entry, footer) = CacheFile.entry(in: file) else {
            remove(name)
            return nil
        }
        return (entry, footer, file)
    }

    /// Notes a use, for this process and, by the file's time, for others and those to come.
    private func use(_ name: String, _ file: CacheDescriptor) {
        index.withLock { $0.use(name) }
        futimens(file.number, nil)
    }

    // MARK: Writing

    /// A new file for a body.
    func draft() -> CacheDraft? {
        load()
        return CacheDraft(in: "\(path)/drafts")
    }

    /// Stores an entry whose body a draft holds, in place of the one that the same requests select.
    func install(_ draft: CacheDraft, as entry: CacheEntry) {
        load()
        let name = CacheFileName.name(of: entry)
        for other in names(for: entry.key) where other != name {
            if let (old, _, _) = read(other), entry.supersedes(old) { remove(other) }
        }
        for surplus in names(for: entry.key).filter({ $0 != name }).dropLast(MemoryTier.maximumVariants - 1) {
            remove(surplus)
        }
        mkdir("\(path)/entries/\(name.prefix(2))", 0o700)
        let destination = place(of: name)
        guard let size = draft.assumeIsolated({ $0.install(entry, as: destination) }) else { return }
        index.withLock { $0.set(name, size: size) }
        writtenSinceScan += size
        evict()
    }

    func store(_ entry: CacheEntry, body: [UInt8]) {
        guard let draft = draft(), draft.assumeIsolated({ $0.append(body) }) else { return }
        install(draft, as: entry)
    }

    /// Stores an entry with the body of another version of it.
    func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) {
        load()
        let name = CacheFileName.name(of: entry)
        guard let (old, footer, file) = read(name), old.id == id, let draft = draft(),
            draft.assumeIsolated({ $0.append(bodyOf: file, length: footer.bodyLength) })
        else { return }
        let wasVerified = verified.remove(id) != nil
        install(draft, as: entry)
        if wasVerified { verified.insert(entry.id) }
    }

    // MARK: Forgetting

    func remove(_ entry: CacheEntry) {
        load()
        let name = CacheFileName.name(of: entry)
        if let (found, _, _) = read(name), found.id == entry.id { remove(name) }
    }

    func removeEntries(for key: CacheKey) {
        load()
        names(for: key).forEach(remove)
    }

    func removeEntries(since time: UnixTime) {
        scan()
        for name in index.withLock({ $0.names }) {
            if let (entry, _, _) = read(name), entry.responseTime >= time { remove(name) }
        }
    }

    func removeAll() {
        scan()
        index.withLock { $0.names }.forEach(remove)
    }

    private func remove(_ name: String) {
        unlink(place(of: name))
        index.withLock { $0.remove(name) }
    }

    private func evict() {
        // Others may have written too; their files count.
        if writtenSinceScan > capacity / 8 { scan() }
        while let name = index.withLock({ $0.surplus }) { remove(name) }
    }

    private func names(for key: CacheKey) -> [String] {
        index.withLock { $0.names(for: CacheFileName.prefix(for: key)) }
    }

    private func place(of name: String) -> String { "\(path)/entries/\(name.prefix(2))/\(name)" }

    // MARK: Looking around

    private func load() {
        guard !isLoaded else { return }
        isLoaded = true
        for directory in path.parents + ["\(path)/entries", "\(path)/drafts"] { mkdir(directory, 0o700) }
        scan()
        while let name = index.withLock({ $0.surplus }) { remove(name) }
    }

    /// Brings the index in line with the files there are, in the order of their last use.
    private func scan() {
        writtenSinceScan = 0
        clearDrafts()
        var found: [(name: String, size: Int64, time: Int64)] = []
        for shard in Self.content(of: "\(path)/entries") where shard.utf8.count == 2 {
            for name in Self.content(of: "\(path)/entries/\(shard)") {
                var status = stat()
                guard stat("\(path)/entries/\(shard)/\(name)", &status) == 0 else { continue }
                let time = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
                found.append((name, Int64(status.st_size), time))
            }
        }
        found.sort { $0.time < $1.time }
        index.withLock { index in
            index.removeAll()
            for file in found { index.set(file.name, size: file.size) }
            index.isComplete = true
        }
    }

    /// Removes the drafts of processes that died.
    ///
    /// Between its making and its locking a draft is not locked; nothing takes a minute there.
    private func clearDrafts() {
        for name in Self.content(of: "\(path)/drafts") {
            let draft = "\(path)/drafts/\(name)"
            guard let file = CacheDescriptor(path: draft) else { continue }
            var status = stat()
            guard fstat(file.number, &status) == 0, time(nil) - status.st_mtim.tv_sec > 60,
                flock(file.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            unlink(draft)
        }
    }

    private static func content(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}

extension String {
    /// This path after those of the directories it is in.
    fileprivate var parents: [String] {
        var paths: [String] = []
        var path = hasPrefix("/") ? "" : "."
        for part in split(separator: "/") {
            path += "/" + part
            paths.append(path)
        }
        return paths
    }
}
