import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Content and the digests that its server states (R15).
@Suite struct ContentCheckTests {
    static let names = ["Repr-Digest", "Content-Digest", "Digest"]

    /// The value of a server's field for content that is this text.
    private static func value(_ name: String, of text: String) -> String {
        func base64(_ algorithm: DigestAlgorithm) -> String {
            let stream = algorithm.stream()
            stream?.append(Array(text.utf8))
            return Data(stream?.finish() ?? []).base64EncodedString()
        }
        switch name {
        case "Digest": return "unixsum=30637, SHA-256=\(base64(.sha256)),md5=AAAA"
        default: return "sha-512=:\(base64(.sha512)):"
        }
    }

    private static func answer(_ name: String, of text: String, inTrailer: Bool, status: String = "200 OK") -> String {
        let field = "\(name): \(value(name, of: text))\r\n"
        return inTrailer
            ? "HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\nTrailer: X, \(name)\r\n\r\n"
                + "2\r\nhe\r\n3\r\nllo\r\n0\r\n\(field)\r\n"
            : "HTTP/1.1 \(status)\r\n\(field)Content-Length: 5\r\n\r\nhello"
    }

    private func code(_ answer: String, _ method: HTTPRequest.Method = .get, verifies: Bool = true) async throws
        -> LoadError.Code?
    {
        let origin = try WireOrigin(playing: answer)
        var configuration = SessionConfiguration()
        configuration.verifiesContentDigests = verifies
        let request = Request(url: try URLRecord(origin.url()), method: method)
        return await failure { try await Session(configuration: configuration).data(for: request) }?.code
    }

    @Test(arguments: names, [false, true])
    func `content that is not what its server says fails`(_ name: String, _ inTrailer: Bool) async throws {
        for (text, expected) in [("hello", LoadError.Code?.none), ("hellp", .contentDigestMismatch)] {
            let answer = Self.answer(name, of: text, inTrailer: inTrailer)
            #expect(try await code(answer) == expected)
            #expect(try await code(answer, verifies: false) == nil)
            let origin = try WireOrigin(playing: answer)
            let download = await failure { try await Session().download(for: Request(origin.url())) }
            #expect(download?.code == expected && download?.resumeData == nil)
        }
    }

    // The one of the two that is wrong counts, wherever it stands.
    @Test func `what stands before the content and what stands behind it have to be true`() async throws {
        let (good, bad) = (Self.value("Digest", of: "hello"), Self.value("Digest", of: "hellp"))
        for (before, behind, isRight) in [(good, good, true), (bad, good, false), (good, bad, false)] {
            let answer =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: digest\r\nDigest: \(before)\r\n\r\n"
                + "5\r\nhello\r\n0\r\nDigest: \(behind)\r\n\r\n"
            #expect(try await code(answer) == (isRight ? nil : .contentDigestMismatch))
        }
    }

    // A range is no whole, a HEAD has no content, and a redirect's is nobody's.
    @Test(arguments: names) func `what is said of something else is not held against the content`(
        _ name: String
    ) async throws {
        let part = Self.answer(name, of: "hello, world", inTrailer: false, status: "206 Part")
        #expect(try await code(part) == (name == "Content-Digest" ? .contentDigestMismatch : nil))
        let head = Self.answer(name, of: "hellp", inTrailer: false).replacing("\r\n\r\nhello", with: "\r\n\r\n")
        #expect(try await code(head, .head) == nil)
        #expect(try await code("HTTP/1.1 304 N\r\n\(name): \(Self.value(name, of: "x"))\r\n\r\n") == nil)
    }

    // Servers disagree on whether they mean the coded or the decoded content.
    @Test func `content whose coding is undone is not looked at`() async throws {
        let coded: [UInt8] = [0x78, 0x9C, 0x4B, 0xCC, 0x04, 0x00, 0x01, 0x2D, 0x00, 0xCB]
        let head =
            "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nDigest: \(Self.value("Digest", of: "x"))\r\n"
            + "Content-Length: \(coded.count)\r\n\r\n"
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send(Array(head.utf8) + coded)
        }
        #expect(try await Session().data(for: Request(origin.url())).0 == Array("ai".utf8))
    }

    @Test func `content that is wrong is not kept for others`() async throws {
        let wrong = Self.answer("Repr-Digest", of: "hellp", inTrailer: false)
            .replacing("200 OK\r\n", with: "200 OK\r\nCache-Control: max-age=99\r\n")
        let count = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                count.add(1)
                try connection.send(wrong)
            }
        }
        let session = Session.caching()
        for _ in 0..<2 {
            await expect(.contentDigestMismatch) { try await session.data(for: Request(origin.url())) }
        }
        #expect(count.value == 2)
    }

    @Test(arguments: [
        ("Digest", "SHA-256=abc"), ("Digest", "SHA-256"), ("Digest", "SHA-512-256=AAAA"), ("Digest", "=,,"),
        ("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg=="), ("Repr-Digest", "md5=:AAAA:"),
    ])
    func `what cannot be read is nothing`(name: String, value: String) throws {
        let fields: HTTPFields = [try #require(HTTPField.Name(name)): value]
        #expect(StatedDigest(fields, isPart: false) == nil)
        #expect(ContentCheck(fields, isPart: false) == nil)
    }
}
