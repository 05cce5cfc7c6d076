import CGSSAPI
import Glibc

/// What the Kerberos library takes from files alone, its keys and its configuration, in one that is in memory and has
/// no name.
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
