import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct IdempotentRequestsTests {
    private static let key: HTTPFields = [.idempotencyKey: "k"]

    private func state(_ job: Job.ID, _ call: TestCalls) async throws -> String? {
        try await call(.get, "/v1/jobs/\(job)").json?["state"]?.string
    }

    @Test func `a repeat is answered as the first request was, and makes no second snapshot`() async throws {
        try await TestServer().test { call async throws in
            let session = try #require(try await call(.post, "/v1/sessions", body: "{}").headers[.location])
            let first = try await call(.post, "\(session)/snapshots", headers: Self.key)
            #expect(first.status == .created && first.headers[.idempotencyReplayed] == nil)
            let again = try await call(.post, "\(session)/snapshots", headers: Self.key)
            #expect(again.status == .created && again.bytes == first.bytes)
            #expect(again.headers[.idempotencyReplayed] == "true")
            #expect(again.headers[.location] == first.headers[.location])
            #expect(again.headers[.contentType] == "application/json")
            let second = try await call(.post, "\(session)/snapshots", headers: [.idempotencyKey: "other"])
            #expect(second.status == .created && second.bytes != first.bytes)
            #expect(try await call(.post, "\(session)/snapshots").bytes != first.bytes)
        }
    }

    @Test func `a repeated retry leaves a job that has ended since as it is`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let job = try await server.queueJob()
            let retry = "/v1/jobs/\(job)/retry"
            // What is refused leaves no key behind.
            #expect(try await call(.post, retry, headers: Self.key).problem == .jobNotFinal)
            #expect(try await call(.post, "/v1/jobs/\(job)/cancel").status == .ok)
            let first = try await call(.post, retry, headers: Self.key)
            #expect(first.status == .accepted)
            #expect(try await call(.post, "/v1/jobs/\(job)/cancel").status == .ok)
            let again = try await call(.post, retry, headers: Self.key)
            #expect(again.status == .accepted && again.bytes == first.bytes)
            #expect(try await state(job, call) == "cancelled")
            #expect(try await call(.post, retry).status == .accepted)
            #expect(try await state(job, call) == "queued")
        }
    }

    @Test func `a key is not for another path, query or body`() async throws {
        try await TestServer().test { call async throws in
            let cookie = { (value: String) in
                #"{"cookies": [{"name": "a", "value": "\#(value)", "domain": "a.example"}]}"#
            }
            #expect(try await call(.post, "/v1/cookies", headers: Self.key, body: cookie("1")).status == .ok)
            for (path, body) in [
                ("/v1/cookies", cookie("2")), ("/v1/cookies?a=b", cookie("1")), ("/v1/credentials", cookie("1")),
            ] {
                let other = try await call(.post, path, headers: Self.key, body: body)
                #expect(other.problem == .idempotencyKeyReused, "\(path)")
            }
            let again = try await call(.post, "/v1/cookies", headers: Self.key, body: cookie("1"))
            #expect(again.json?["set"]?.integer == 1 && again.headers[.idempotencyReplayed] == "true")
        }
    }

    @Test func `a request is refused while one under its key is carried out, and when its answer was not kept`()
        async throws
    {
        let server = try await TestServer()
        try await server.test { call async throws in
            let request = Request(
                head: HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/v1/queue/pause"),
                body: RequestBody(buffer: ByteBuffer()))
            let key = try #require(try IdempotencyKey(of: Self.key))
            let beginning = try await server.idempotency.begin(
                key.idempotency(for: request, ByteBuffer()), of: server.key.tenant)
            guard case .begun(let begun) = beginning else {
                Issue.record("the key is taken")
                return
            }
            let early = try await call(.post, "/v1/queue/pause", headers: Self.key)
            #expect(early.problem == .idempotencyKeyInUse && early.status == .conflict)
            #expect(early.headers[.retryAfter] == "1")
            try await server.idempotency.end(begun, with: nil)
            let late = try await call(.post, "/v1/queue/pause", headers: Self.key)
            #expect(late.problem == .idempotencyKeyInUse && late.headers[.retryAfter] == nil)
        }
    }
}
