import Glibc

/// A file that goes with the value that holds it.
package final class TemporaryFile: Sendable {
    package struct Failure: Error {
        let number: Int32
    }

    package let path: String

    /// Writes the bytes to a new file.
    package init(_ bytes: [UInt8]) throws {
        var template = Array("/tmp/fetchd-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { close(descriptor) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure(number: errno) }
    }

    deinit { unlink(path) }
}
