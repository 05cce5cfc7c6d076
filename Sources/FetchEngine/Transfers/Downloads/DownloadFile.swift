import CEpoll
import Glibc

/// The file that a download writes, under a temporary name until it is complete.
///
/// Every call may block on the disk, so all of them are made on a file thread. Written bytes are durable only after
/// ``sync()``; a crash leaves a file with a temporary name.
final class DownloadFile {
    /// The temporary path.
    let path: String
    /// How many bytes it holds.
    private(set) var count: Int64
    /// Up to where the disk was told to begin.
    private var writebackEnd: Int64
    /// After how many bytes it is told again: it writes while more are received, and a sync has less to wait for.
    private static let writebackBytes: Int64 = 16 << 20
    private var descriptor: Int32

    /// Makes a new file in a directory, whose path ends with a slash or is empty.
    init(in directory: String) throws(LoadError) {
        var path = ""
        repeat {
            path = "\(directory).fetch-\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
            descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        } while descriptor < 0 && errno == EEXIST
        guard descriptor >= 0 else { throw LoadError(.cannotCreateFile, errno: errno) }
        self.path = path
        (count, writebackEnd) = (0, 0)
    }

    /// Continues a file that holds at least so many bytes; further bytes are cut off.
    init(continuing path: String, at offset: Int64) throws(LoadError) {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw LoadError(.cannotOpenFile, errno: errno) }
        self.path = path
        (count, writebackEnd) = (offset, offset)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= offset,
            ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset)
        else {
            let number = errno
            _ = Glibc.close(descriptor)
            throw LoadError(.cannotOpenFile, errno: number)
        }
    }

    deinit { if descriptor >= 0 { _ = Glibc.close(descriptor) } }

    /// Reads the beginning of a file in pieces; all of it for the largest count.
    static func read(_ path: String, upTo count: Int64, _ take: ([UInt8]) throws(LoadError) -> Void) throws(LoadError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw LoadError(.cannotOpenFile, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        var left = count
        while left > 0 {
            var piece = [UInt8](repeating: 0, count: Int(min(left, 256 * 1024)))
            let read = Glibc.read(descriptor, &piece, piece.count)
            if read == 0, count == .max { return }
            guard read > 0 else { throw LoadError(.cannotOpenFile, errno: read < 0 ? errno : EIO) }
            piece.removeLast(piece.count - read)
            left -= Int64(read)
            try take(piece)
        }
    }

    /// Appends bytes, all of them or it throws.
    func write(_ bytes: [UInt8]) throws(LoadError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes.withUnsafeBytes { bytes in
                Glibc.write(descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw LoadError(.cannotWriteToFile, errno: written < 0 ? errno : ENOSPC) }
            offset += written
            count += Int64(written)
        }
        guard count - writebackEnd >= Self.writebackBytes else { return }
        // Where that cannot be, the sync does it all.
        _ = sync_file_range(
            descriptor, Int(writebackEnd), Int(count - writebackEnd), UInt32(SYNC_FILE_RANGE_WRITE))
        writebackEnd = count
    }

    /// Starts again with no bytes.
    func empty() throws(LoadError) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw LoadError(.cannotWriteToFile, errno: errno)
        }
        (count, writebackEnd) = (0, 0)
    }

    /// Makes the written bytes survive a loss of power.
    func sync() throws(LoadError) {
        guard fsync(descriptor) == 0 else { throw LoadError(.cannotWriteToFile, errno: errno) }
    }

    /// Closes it; a delayed failure to write shows here on some file systems.
    func close() throws(LoadError) {
        guard descriptor >= 0 else { return }
        defer { descriptor = -1 }
        guard Glibc.close(descriptor) == 0 || errno == EINTR else { throw LoadError(.cannotCloseFile, errno: errno) }
    }

    /// Removes a partial file that nothing will go on with; if that fails, it is only in the way.
    static func removeStale(_ path: String) { unlink(path) }

    /// Removes it; one that is gone is fine.
    func remove() throws(LoadError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw LoadError(.cannotRemoveFile, errno: errno) }
    }
}
