import FetchJobs
import Glibc
import Logging

/// A file with the entries of the audit log that this node has given their places, one JSON text a line.
///
/// It is opened for each batch, so that it may be moved away at any time.
struct AuditFile: Sendable {
    let path: String
    let logger: Logger

    func append(_ entries: [AuditEntry]) {
        var lines: [UInt8] = []
        for entry in entries {
            lines += JSONWriter.object { entry.write(&$0, isForOperators: true) }
            lines.append(UInt8(ascii: "\n"))
        }
        guard !write(lines) else { return }
        // They are in the database, from which the file can be made again.
        logger.error(
            "entries of the audit log are not in its file",
            metadata: ["path": "\(path)", "count": "\(entries.count)", "error": "\(String(cString: strerror(errno)))"])
    }

    private func write(_ lines: [UInt8]) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var rest = lines[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
