import Foundation
import Testing

@testable import fetchd

@Suite struct FileOutputTests {
    /// A directory of its own for each test.
    private static func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    private static func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    @Test func `the file appears under its name when it is complete`() throws {
        try Self.withDirectory { directory in
            var output = try FileOutput(path: directory + "/page")
            try output.write(Array("first ".utf8))
            #expect(try !Self.names(in: directory).contains("page"))
            try output.write(Array("second".utf8))
            try output.commit()
            #expect(try Self.names(in: directory) == ["page"])
            #expect(try String(contentsOfFile: directory + "/page", encoding: .utf8) == "first second")
        }
    }

    @Test func `an abandoned file leaves nothing, and what was there before stays`() throws {
        try Self.withDirectory { directory in
            try "old".write(toFile: directory + "/page", atomically: false, encoding: .utf8)
            var output = try FileOutput(path: directory + "/page")
            try output.write(Array("new".utf8))
            output.abandon()
            #expect(try Self.names(in: directory) == ["page"])
            #expect(try String(contentsOfFile: directory + "/page", encoding: .utf8) == "old")
        }
    }

    @Test func `a place that cannot be written is told by its name`() throws {
        try Self.withDirectory { directory in
            let error = #expect(throws: OutputError.self) { try FileOutput(path: directory + "/no/page") }
            #expect(error?.message == "\(directory)/no/page cannot be written: No such file or directory.")
        }
        var full = try FileOutput(path: "/dev/full")
        #expect(throws: OutputError.self) { try full.write([1]) }
        full.abandon()
    }
}
