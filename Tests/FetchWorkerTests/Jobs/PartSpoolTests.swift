import FetchJobs
import TestSupport
import Testing

@testable import FetchWorker

/// Bodies whose parts replace one another.
@Suite struct PartSpoolTests {
    /// An origin whose answer has so many parts with so many fields each.
    private static func origin(_ parts: Int, fields: Int) throws -> WireOrigin {
        let part = "--b\r\n\(String(repeating: "a: b\r\n", count: fields))\r\nx\r\n"
        let body = "\(String(repeating: part, count: parts))--b--\r\n"
        return try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    private func fetch(_ origin: WireOrigin, keeping: String) async throws -> Job {
        let fixture = try await WorkerFixture()
        var found: Job?
        try await fixture.run {
            let id = try await fixture.submit(
                origin.url,
                more: #", "configuration": {"response": {"multipartReplace": "\#(keeping)"}, "#
                    + #""retry": {"maximumAttempts": 1}}"#)
            try await until {
                found = try await fixture.job(id)
                return found?.state.isFinal == true
            }
        }
        return try #require(found)
    }

    // Fields of 34 bytes, as they are counted: 19 parts have 258 400 of them, and 20 have 272 000.
    @Test func `the fields of all parts that are kept have their limit`() async throws {
        let kept = try await fetch(try Self.origin(19, fields: 400), keeping: "all")
        #expect(kept.state == .succeeded)
        let refused = try await fetch(try Self.origin(20, fields: 400), keeping: "all")
        #expect(refused.state == .failed)
        #expect(refused.attempts.map(\.errorName) == ["dataLengthExceedsMaximum"])
    }

    @Test func `those of parts that are not kept do not count`() async throws {
        #expect(try await fetch(try Self.origin(20, fields: 400), keeping: "last").state == .succeeded)
    }
}
