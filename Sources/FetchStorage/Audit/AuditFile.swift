import FetchEngine
package import FetchJobs
import Glibc

/// A file with the entries of the audit log, one JSON text a line.
///
/// It is opened for each batch, so that it may be moved away at any time and nobody has to be told. A batch is on the
/// disk when it counts as written.
package struct AuditFile: AuditSink {
    private let path: String

    /// - Parameter path: An absolute path.
    package init(path: String) { self.path = path }

    package var name: String { "file:\(path)" }
    package var kind: AuditSinkKind { .file }

    package func write(_ entries: [AuditEntry]) async throws(AuditSinkFailure) {
        let lines = entries.flatMap { $0.line + [UInt8(ascii: "\n")] }
        let number = await onOwnThread { [path] in Self.append(lines, to: path) }
        guard number == 0 else { throw AuditSinkFailure(path, errno: number) }
    }

    /// - Returns: 0, or the `errno` of what failed.
    private static func append(_ lines: [UInt8], to path: String) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return errno }
        guard status.st_mode & S_IFMT == S_IFREG else { return writeAll(lines[...], to: descriptor) }
        // A crash may have cut the last line.
        var last = UInt8(ascii: "\n")
        if status.st_size > 0, pread(descriptor, &last, 1, status.st_size - 1) != 1 { return errno }
        let text = last == UInt8(ascii: "\n") ? lines : [UInt8(ascii: "\n")] + lines
        let number = writeAll(text[...], to: descriptor)
        guard number == 0 else {
            // Half a batch would be there twice.
            _ = ftruncate(descriptor, status.st_size)
            return number
        }
        guard fdatasync(descriptor) == 0 else { return errno }
        return status.st_size == 0 ? syncDirectory(of: path) : 0
    }

    private static func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return 0
    }
}
