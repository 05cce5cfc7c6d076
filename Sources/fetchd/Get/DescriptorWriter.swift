import Glibc

/// Why output could not be written.
struct OutputError: Error {
    let number: CInt
    let path: String

    /// Whether the reader of a pipe went away, which is its right and nothing to complain about.
    var isBrokenPipe: Bool { number == EPIPE }

    var message: String { "\(path) cannot be written: \(String(cString: strerror(number)))." }

    /// The error that `errno` tells.
    static func last(_ path: String) -> OutputError { OutputError(number: errno, path: path) }
}

/// Writes to a descriptor that others share, such as standard output, as fast as its reader reads.
struct DescriptorWriter: Sendable {
    let descriptor: CInt
    let name: String
    /// A regular file takes everything at once; a pipe, socket or terminal may make a writer wait.
    private let mayWait: Bool

    static let standardOutput = DescriptorWriter(descriptor: STDOUT_FILENO, name: "Standard output")

    init(descriptor: CInt, name: String) {
        self.descriptor = descriptor
        self.name = name
        mayWait = FileStatus(descriptor: descriptor)?.isRegular != true
    }

    /// Writes all bytes; throws `OutputError`, or `CancellationError` when the task is cancelled while it waits.
    func write(_ bytes: [UInt8]) async throws {
        var position = 0
        while position < bytes.count {
            if mayWait { try await waitUntilWritable() }
            // A pipe that polls writable has room for this much, so the call returns at once.
            let size = mayWait ? min(Int(PIPE_BUF), bytes.count - position) : bytes.count - position
            let count = bytes[position..<(position + size)].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                position += count
            } else if errno != EINTR && errno != EAGAIN {
                throw OutputError.last(name)
            }
        }
    }

    /// Waits in short steps, so that a cancelled task stops and other tasks get their turn on a small machine.
    private func waitUntilWritable() async throws {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&request, 1, 50) <= 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
