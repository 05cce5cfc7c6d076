import FetchJobs
import FetchRuntime
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// Uploads in several requests, as draft-ietf-httpbis-resumable-upload has them.
@Suite struct UploadRoutesTests {
    private static let partial = "application/partial-upload"

    private func begin(_ call: TestCalls, _ text: String, _ more: HTTPFields = [:]) async throws -> String {
        var headers: HTTPFields = [.uploadComplete: "?0", .contentType: "text/plain"]
        for field in more { headers[field.name] = field.value }
        let answer = try await call(.post, "/v1/blobs", headers: headers, body: text)
        try #require(answer.status == .created, "\(answer.text)")
        #expect(answer.headers[.uploadComplete] == "?0")
        return try #require(answer.headers[.location])
    }

    private func append(
        _ call: TestCalls,
        _ path: String,
        _ text: String,
        at offset: Int,
        isComplete: Bool = false
    ) async throws -> TestAnswer {
        let headers: HTTPFields = [
            .uploadOffset: "\(offset)", .uploadComplete: isComplete ? "?1" : "?0", .contentType: Self.partial,
        ]
        return try await call(.patch, path, headers: headers, body: text)
    }

    // Proves: BEY-12.
    @Test func `parts make a blob, with the type of the first request`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await begin(call, "hello ")
            let offset = try await call(.head, path)
            #expect(offset.status == .noContent)
            #expect(offset.headers[.uploadOffset] == "6")
            #expect(offset.headers[.uploadComplete] == "?0")
            #expect(offset.headers[.cacheControl] == "no-store")
            let middle = try await append(call, path, "wide ", at: 6)
            #expect(middle.status == .noContent)
            #expect(middle.headers[.uploadOffset] == "11")
            let end = try await append(call, path, "world", at: 11, isComplete: true)
            #expect(end.status == .created)
            #expect(end.headers[.uploadComplete] == "?1")
            #expect(end.json?["digest"]?.string == SHA256Digest(of: Array("hello wide world".utf8)).field)
            let blob = try #require(end.headers[.location])
            #expect(try await call(.get, blob).text == "hello wide world")
            #expect(try await call(.get, blob).headers[.contentType] == "text/plain")
            #expect(try await call(.head, path).status == .notFound)
        }
    }

    @Test func `an upload that comes whole is a blob at once`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/blobs", headers: [.uploadComplete: "?1"], body: "all of it")
            #expect(answer.status == .created)
            #expect(answer.headers[.uploadComplete] == "?1")
            #expect(answer.json?["bytes"]?.integer == 9)
        }
    }

    @Test func `a part at another offset is refused, and told the right one`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await begin(call, "hello")
            for offset in [0, 4, 6] {
                let answer = try await append(call, path, "x", at: offset)
                #expect(answer.problem == .uploadOffsetMismatch)
                #expect(answer.headers[.uploadOffset] == "5")
            }
            #expect(try await call(.head, path).headers[.uploadOffset] == "5")
        }
    }

    @Test func `of two parts for one place one is taken, and none of it is cut off by the other`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await begin(call, "hello")
            let other = Mutex<TestAnswer?>(nil)
            // Comes whole while the first one is between its look at the upload and its bytes.
            server.uploads.onceAfterLook {
                let answer = try? await append(call, path, " earth", at: 5)
                other.withLock { $0 = answer }
            }
            let answer = try await append(call, path, " world", at: 5)
            let others = try #require(other.withLock { $0 })
            #expect(answer.status == .noContent && answer.headers[.uploadOffset] == "11")
            #expect(others.problem == .uploadOffsetMismatch && others.headers[.retryAfter] == "1")
            // Whoever comes later is told where the upload is.
            let late = try await append(call, path, " earth", at: 5)
            #expect(late.problem == .uploadOffsetMismatch && late.headers[.uploadOffset] == "11")
            let end = try await append(call, path, "!", at: 11, isComplete: true)
            #expect(try await call(.get, try #require(end.headers[.location])).text == "hello world!")
        }
    }

    // Proves: SEC-44.
    @Test func `what uploads hold takes room of their tenant, and whoever is refused leaves nothing`() async throws {
        let server = try await TestServer()
        server.catalog.limit(to: 10)
        let tenant = server.key.tenant
        try await server.test { call async throws in
            let path = try await begin(call, "hello ")
            let more: HTTPFields = [.uploadComplete: "?0"]
            #expect(try await call(.post, "/v1/blobs", headers: more, body: "12345").problem == .tooManyBytes)
            #expect(try await call(.post, "/v1/blobs", body: "12345").problem == .tooManyBytes)
            #expect(server.unfinished.count(of: tenant) == 1 && server.unfinished.bytes(of: tenant) == 6)
            let other = try await begin(call, "12")
            #expect(try await append(call, path, "abc", at: 6).problem == .tooManyBytes)
            #expect(try await append(call, path, "ab", at: 6).status == .noContent)
            #expect(try await call(.delete, other).status == .noContent)
            // What it holds itself does not stand in its way.
            #expect(try await append(call, path, "cd", at: 8, isComplete: true).status == .created)
            #expect(server.unfinished.count(of: tenant) == 0 && server.unfinished.bytes(of: tenant) == 0)
        }
    }

    @Test func `an upload without room when it is complete leaves no bytes`() async throws {
        let server = try await TestServer()
        server.catalog.limit(to: 10)
        try await server.test { call async throws in
            let path = try await begin(call, "hello")
            server.catalog.limit(to: 4)
            #expect(try await append(call, path, "", at: 5, isComplete: true).problem == .tooManyBytes)
            #expect(server.blobs.count == 0 && server.catalog.count == 0)
            #expect(server.unfinished.bytes(of: server.key.tenant) == 0)
        }
    }

    @Test func `an upload that ends before its client knows where it is leaves nothing`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let claim: HTTPFields = [
                .uploadComplete: "?0", .contentDigest: SHA256Digest(of: Array("hello".utf8)).field,
            ]
            #expect(try await call(.post, "/v1/blobs", headers: claim, body: "hellO").problem == .digestMismatch)
            #expect(server.unfinished.count(of: server.key.tenant) == 0)
        }
    }

    // Proves: SEC-44.
    @Test func `a tenant has so many uploads that are not complete, and others are not concerned`() async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "other", tenant: "other")
        let ids = (0..<1000).map { _ in Upload.ID(in: server.uploads.volume) }
        for id in ids { server.unfinished.begin(id, of: server.key.tenant) }
        try await server.test { call async throws in
            let headers: HTTPFields = [.uploadComplete: "?0"]
            let refused = try await call(.post, "/v1/blobs", headers: headers, body: "hello")
            #expect(refused.status == .tooManyRequests && refused.problem == .tooManyUploads)
            #expect(refused.headers[.rateLimitPolicy] == #""uploads";q=1000"#)
            #expect(refused.headers[.retryAfter] == "60")
            // Whole blobs are not among them.
            #expect(try await call(.post, "/v1/blobs", body: "hello").status == .created)
            _ = try await begin(call.with("Bearer \(token.revealed)"), "hello")
            server.unfinished.end(ids[0], of: server.key.tenant)
            _ = try await begin(call, "hello")
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="uploads"} 1"#))
    }

    @Test func `a part that is not what its digest says never came`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await begin(call, "hello")
            let headers: HTTPFields = [
                .uploadOffset: "5", .uploadComplete: "?1", .contentType: Self.partial,
                .contentDigest: SHA256Digest(of: Array(" world".utf8)).field,
            ]
            #expect(try await call(.patch, path, headers: headers, body: " w0rld").problem == .digestMismatch)
            #expect(try await call(.head, path).headers[.uploadOffset] == "5")
            #expect(try await call(.patch, path, headers: headers, body: " world").status == .created)
        }
    }

    @Test func `an upload is cancelled, and keeps to the length it was begun with`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await begin(call, "hello", [.uploadLength: "8"])
            #expect(try await call(.head, path).headers[.uploadLength] == "8")
            #expect(try await append(call, path, " world", at: 5).problem == .contentTooLarge)
            #expect(try await append(call, path, "", at: 5, isComplete: true).problem == .invalidParameter)
            #expect(try await call(.delete, path).status == .noContent)
            #expect(try await append(call, path, "x", at: 5).problem == .notFound)
        }
    }
}
