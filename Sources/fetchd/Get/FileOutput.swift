import Glibc

/// A file that appears under its name when it is complete and on disk, and not before.
struct FileOutput: Sendable {
    let path: String
    /// Where the bytes go until then; `nil` when the path is a device or a pipe, which are written as they are.
    private let temporaryPath: String?
    private let descriptor: CInt

    init(path: String) throws(OutputError) {
        self.path = path
        if FileStatus(path: path)?.isRegular == false {
            temporaryPath = nil
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            let (directory, name) = Self.split(path)
            let temporary = "\(directory).\(name.prefix(200)).\(getpid()).part"
            temporaryPath = temporary
            descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o666)
        }
        guard descriptor >= 0 else { throw .last(path) }
    }

    /// A file that is written where it is, and of which what has come stays when the rest does not.
    ///
    /// - Parameter offset: Where writing begins; what lies behind goes.
    init(goingOn path: String, at offset: Int64) throws(OutputError) {
        self.path = path
        temporaryPath = nil
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw .last(path) }
        guard ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, 0, SEEK_END) == offset else {
            close(descriptor)
            throw .last(path)
        }
    }

    mutating func write(_ bytes: [UInt8]) throws(OutputError) {
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                position += count
            } else if errno != EINTR {
                throw .last(path)
            }
        }
    }

    /// Puts the file in its place, durably.
    func commit() throws(OutputError) {
        guard let temporaryPath else { return _ = close(descriptor) }
        guard fsync(descriptor) == 0, close(descriptor) == 0, rename(temporaryPath, path) == 0 else {
            throw .last(path)
        }
        let directory = open(Self.split(path).directory + ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    /// Leaves nothing behind.
    func abandon() {
        close(descriptor)
        if let temporaryPath { unlink(temporaryPath) }
    }

    /// The directory with its slash, and the name.
    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        let start = path.utf8.index(after: slash)
        return (String(path[..<start]), String(path[start...]))
    }
}
