import EventLoop
import Glibc

/// A file that is being written under a temporary name, and goes unless it is installed.
///
/// Its process holds a lock on it, by which others know that it is still being written.
actor CacheDraft {
    private let path: String
    private let file: CacheDescriptor
    private let digest = ContentDigest.sha256.stream()
    private var length: Int64 = 0
    private var hasFailed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { CacheDirectory.loop.asUnownedSerialExecutor() }

    /// Nil when no file can be made there.
    init?(in directory: String) {
        let path = "\(directory)/\(getpid())-\(UInt64.random(in: .min ... .max))"
        let number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { return nil }
        self.path = path
        file = CacheDescriptor(number)
        flock(number, LOCK_EX | LOCK_NB)
    }

    deinit { unlink(path) }

    /// Takes the next bytes of the body; false once something could not be written.
    func append(_ bytes: [UInt8]) -> Bool {
        guard !hasFailed else { return false }
        hasFailed = !file.write(bytes)
        digest.append(bytes)
        length += Int64(bytes.count)
        return !hasFailed
    }

    /// Takes the body of another file.
    func append(bodyOf other: CacheDescriptor, length: Int64) -> Bool {
        var offset: Int64 = 0
        while offset < length {
            let count = Int(min(length - offset, Int64(CacheDescriptor.chunk)))
            guard let bytes = other.read(at: offset, count: count), append(bytes) else { return false }
            offset += Int64(count)
        }
        return true
    }

    /// Completes the file, sees to it that it is on the disk, and gives it its name.
    ///
    /// - Returns: Its size, or nil when it could not be written.
    func install(_ entry: CacheEntry, as destination: String) -> Int64? {
        guard !hasFailed else { return nil }
        var entry = entry
        entry.bodyLength = length
        let head = entry.bytes
        let footer = CacheFile.Footer(bodyLength: length, bodySum: digest.finish(), head: head)
        guard file.write(head), file.write(footer.bytes), fdatasync(file.number) == 0 else { return nil }
        guard rename(path, destination) == 0 else { return nil }
        return length + Int64(head.count) + Int64(CacheFile.Footer.size)
    }
}
