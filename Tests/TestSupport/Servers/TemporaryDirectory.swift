import Foundation
import Glibc

/// A directory that goes, with all that is in it, with the value that holds it.
///
/// Everybody may enter it: a server started by root reads its files as another user.
package final class TemporaryDirectory: Sendable {
    package struct Failure: Error {
        package let number: Int32

        package init(number: Int32) { self.number = number }
    }

    package let path: String

    package init() throws {
        var template = Array("/tmp/fetchd-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(number: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in it.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file that everybody may read, and makes the directories on the way; returns its path.
    @discardableResult
    package func write(_ content: [UInt8], to name: String, mode: UInt32 = 0o644) throws -> String {
        let path = file(name)
        if let slash = name.lastIndex(of: "/") { try makeDirectory(String(name[..<slash])) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, content, content.count) == content.count, fchmod(descriptor, mode) == 0 else {
            throw Failure(number: errno)
        }
        return path
    }

    /// The same for text.
    @discardableResult
    package func write(_ text: String, to name: String, mode: UInt32 = 0o644) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    /// Makes a directory, and those above it; returns its path.
    @discardableResult
    package func makeDirectory(_ name: String, mode: UInt32 = 0o755) throws -> String {
        let path = file(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard chmod(path, mode) == 0 else { throw Failure(number: errno) }
        return path
    }

    /// The content of a file; empty when it is not there.
    package func contents(of name: String) -> [UInt8] {
        FileManager.default.contents(atPath: file(name)).map(Array.init) ?? []
    }

    /// The text of a file; empty when it is not there.
    package func text(of name: String) -> String { String(decoding: contents(of: name), as: UTF8.self) }

    /// The names of its files, or of those of a directory in it, in order.
    package func names(_ directory: String = ".") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(directory)).sorted()
    }
}
