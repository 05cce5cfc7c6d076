import CGSSAPI
import Glibc

/// A file in memory, without a name, for the keys and the configuration that the Kerberos library reads from files
/// alone.
final class FileInMemory: Sendable {
    private let descriptor: Int32

    /// Nil when the system gives no such file.
    init?(_ content: [UInt8]) {
        descriptor = cgssapi_unnamed_file()
        guard descriptor >= 0, write(descriptor, content, content.count) == content.count else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Good for this process, while this lives.
    var path: String { "/proc/self/fd/\(descriptor)" }
}
