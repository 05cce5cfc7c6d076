import FetchJobs
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct BatchRouteTests {
    private static let type: HTTPFields = [.contentType: "application/x-ndjson"]

    private static func line(_ number: Int) -> String { #"{"request":{"url":"https://origin.example/\#(number)"}}"# }

    private static func results(_ answer: TestAnswer) throws -> [JSONValue] {
        try answer.bytes.split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse($0) }
    }

    @Test func `each line is answered for itself, in order`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let body = [Self.line(1), "{", "", Self.line(3) + "\r", #"{"request":{}}"#].joined(separator: "\n")
            let answer = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: body)
            #expect(answer.status == .ok)
            #expect(answer.headers[.contentType] == "application/x-ndjson")
            let results = try Self.results(answer)
            #expect(results.map { $0["line"]?.integer } == [1, 2, 3, 4])
            #expect(results.map { $0["state"]?.string } == ["queued", nil, "queued", nil])
            #expect(results[1]["problem"]?["code"]?.string == "malformedJSON")
            #expect(results[3]["problem"]?["errors"]?[0]?["pointer"]?.string == "/request/url")
        }
        #expect(server.jobs.count == 2)
    }

    // Proves: SEC-44.
    @Test func `ten thousand lines are stored in groups, one more is refused`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let body = (1...10_001).map { Self.line($0) }.joined(separator: "\n")
            let answer = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: body)
            let results = try Self.results(answer)
            #expect(results.count == 10_001)
            #expect(results.last?["problem"]?["code"]?.string == "contentTooLarge")
        }
        #expect(server.jobs.count == 10_000)
        #expect(server.jobs.largestEnqueue == 500)
    }

    // R3
    // Proves: SEC-45.
    @Test func `lines that go beyond the tenant's quota are refused one by one`() async throws {
        let server = try await TestServer()
        server.jobs.limit(to: 2)
        try await server.test { call async throws in
            let body = (1...4).map { Self.line($0) }.joined(separator: "\n")
            let answer = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: body)
            let results = try Self.results(answer)
            #expect(results.map { $0["state"]?.string } == ["queued", "queued", nil, nil])
            #expect(results[3]["problem"]?["code"]?.string == "queueFull")
            let refused = try await call(.post, "/v1/jobs", body: Self.line(5))
            #expect(refused.problem == .queueFull && refused.headers[.retryAfter] == "5")
            #expect(refused.headers[.rateLimitPolicy] == "\"waitingJobs\";q=2")
        }
        #expect(server.jobs.count == 2)
    }

    // R5
    @Test func `jobs are taken with a warning while no worker lives`() async throws {
        let server = try await TestServer()
        server.readiness.setWorker(lives: false)
        try await server.test { call async throws in
            let single = try await call(.post, "/v1/jobs", body: Self.line(1))
            #expect(single.status == .accepted)
            #expect(single.json?["warnings"]?[0]?["code"]?.string == "noLiveWorker")
            let batch = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: Self.line(1))
            #expect(try Self.results(batch)[0]["warnings"]?[0]?["code"]?.string == "noLiveWorker")
            server.readiness.setWorker(lives: true)
            #expect(try await call(.post, "/v1/jobs", body: Self.line(1)).json?["warnings"] == nil)
        }
        #expect(server.jobs.count == 3)
    }

    @Test func `an idempotency key counts for each line`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let fields: HTTPFields = [.contentType: "application/jsonl", .idempotencyKey: "b"]
            let body = Self.line(1) + "\n" + Self.line(2)
            let first = try Self.results(try await call(.post, "/v1/jobs/batch", headers: fields, body: body))
            let again = try Self.results(try await call(.post, "/v1/jobs/batch", headers: fields, body: body))
            #expect(again.map { $0["id"]?.string } == first.map { $0["id"]?.string })
            #expect(again.allSatisfy { $0["replayed"]?.bool == true })
        }
        #expect(server.jobs.count == 2)
    }

    @Test func `a line may have a key of its own, which names one job wherever it is used again`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            func line(_ key: String, _ number: Int) -> String {
                #"{"idempotencyKey":\#(key),"# + Self.line(number).dropFirst()
            }
            let body = [line(#""a""#, 1), line(#""a""#, 1), line(#""a""#, 2), Self.line(1), line(#""b""#, 2)]
            let fields: HTTPFields = [.contentType: "application/x-ndjson", .idempotencyKey: "whole"]
            let answer = try await call(
                .post, "/v1/jobs/batch", headers: fields, body: body.joined(separator: "\n"))
            let results = try Self.results(answer)
            let first = try #require(results[0]["id"]?.string)
            #expect(results[1]["id"]?.string == first && results[1]["replayed"]?.bool == true)
            #expect(results[2]["problem"]?["code"]?.string == "idempotencyKeyReused")
            #expect(results[2]["problem"]?["errors"]?[0]?["pointer"]?.string == "/idempotencyKey")
            #expect(results[3...].map { $0["state"]?.string } == ["queued", "queued"])

            // The place of the line, and the other lines of the request, do not matter.
            let moved = try await call(
                .post, "/v1/jobs/batch", headers: Self.type, body: Self.line(9) + "\n" + line(#""a""#, 1))
            #expect(try Self.results(moved)[1]["id"]?.string == first)
            let single = try await call(
                .post, "/v1/jobs", headers: [.contentType: "application/json", .idempotencyKey: "a"], body: Self.line(1)
            )
            #expect(single.json?["id"]?.string == first)
        }
        #expect(server.jobs.count == 4)
    }

    @Test func `a misspelt member is told all that a line may have`() async throws {
        try await TestServer().test { call async throws in
            let line = #"{"idempotencyKy":"a","request":"https://origin.example/"}"#
            let results = try Self.results(try await call(.post, "/v1/jobs/batch", headers: Self.type, body: line))
            let error = results[0]["problem"]?["errors"]?[0]
            #expect(error?["pointer"]?.string == "/idempotencyKy")
            #expect(error?["message"]?.string?.contains("group, idempotencyKey, initiated") == true)
        }
    }

    @Test(arguments: ["1", "null", #""""#, #""a b""#, "\"\(String(repeating: "k", count: 129))\""])
    func `a key that is none is refused with what else is wrong`(key: String) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let line = #"{"idempotencyKey":\#(key),"request":"https://origin.example/","priority":2}"#
            let results = try Self.results(try await call(.post, "/v1/jobs/batch", headers: Self.type, body: line))
            let errors = results[0]["problem"]?["errors"]
            #expect(errors?[0]?["pointer"]?.string == "/idempotencyKey")
            #expect(errors?[1]?["pointer"]?.string == "/priority")
            // One job has the header field for it.
            let single = try await call(.post, "/v1/jobs", body: line)
            #expect(single.problem == .invalidInput)
        }
        #expect(server.jobs.count == 0)
    }

    @Test func `a store that fails at the first group refuses the request`() async throws {
        let server = try await TestServer()
        server.jobs.fail(with: .init(.unavailable, "gone"))
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: Self.line(1))
            #expect(answer.problem == .databaseUnavailable)
        }
    }

    @Test func `no lines make no results`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs/batch", headers: Self.type, body: "\n \n")
            #expect(answer.status == .ok)
            #expect(answer.bytes.isEmpty)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 100])
    func `lines are the same however the stream is cut`(size: Int) {
        let bytes = Array("one\ntwo\r\n\nlonger than eight\n  \nlast".utf8)
        var lines = NDJSONLines(maximumLength: 8)
        var read: [NDJSONLines.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.append(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            while let line = lines.next() { read.append(line) }
        }
        if let line = lines.last() { read.append(line) }
        let expected: [NDJSONLines.Line] = [
            .text(ByteBuffer(string: "one")), .text(ByteBuffer(string: "two")), .tooLong,
            .text(ByteBuffer(string: "last")),
        ]
        #expect(read == expected)
    }
}
