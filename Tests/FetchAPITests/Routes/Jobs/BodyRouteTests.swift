import FetchJobs
import FetchRuntime
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct BodyRouteTests {
    /// A server with one job that has a body, and the path of that body.
    private static func serve(
        _ bytes: [UInt8],
        inBlob: Bool = false,
        type: String? = "text/html"
    ) async throws -> (TestServer, path: String) {
        let server = try await TestServer()
        let id = try await server.queueJob()
        var location = StoredBody.Location.inline(bytes)
        if inBlob {
            let writer = try await server.blobs.create()
            try await writer.write(bytes)
            try await writer.finish()
            location = .blob(writer.id)
        }
        let body = StoredBody(
            location: location,
            bytes: Int64(bytes.count),
            digest: SHA256Digest(of: bytes),
            contentType: type
        )
        server.jobs.finish(id, body: body)
        return (server, "/v1/jobs/\(id)/body")
    }

    // Proves: SEC-47.
    @Test(arguments: [false, true])
    func `the whole body comes with its type, digest and no way to be rendered`(inBlob: Bool) async throws {
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        let (server, path) = try await Self.serve(bytes, inBlob: inBlob)
        try await server.test { call async throws in
            let answer = try await call(.get, path)
            #expect(answer.status == .ok)
            #expect(answer.bytes == bytes)
            #expect(answer.headers[.contentType] == "text/html")
            #expect(answer.headers[.contentDisposition] == "attachment")
            #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            #expect(answer.headers[.contentSecurityPolicy]?.hasPrefix("sandbox") == true)
            #expect(answer.headers[.reprDigest] == SHA256Digest(of: bytes).field)
            let head = try await call(.head, path)
            #expect(head.status == .ok)
            #expect(head.headers[.contentLength] == "5000")
            #expect(head.bytes.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `a range is answered with its part`(inBlob: Bool) async throws {
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0 / 10) }
        let (server, path) = try await Self.serve(bytes, inBlob: inBlob)
        try await server.test { call async throws in
            let answer = try await call(.get, path, headers: [.range: "bytes=1000-3999"])
            #expect(answer.status == .partialContent)
            #expect(answer.headers[.contentRange] == "bytes 1000-3999/5000")
            #expect(answer.bytes == Array(bytes[1000..<4000]))
            let beyond = try await call(.get, path, headers: [.range: "bytes=5000-"])
            #expect(beyond.problem == .rangeNotSatisfiable)
            #expect(beyond.headers[.contentRange] == "bytes */5000")
        }
    }

    @Test func `tags decide whether the body or the range is sent`() async throws {
        let (server, path) = try await Self.serve(Array("hello".utf8))
        try await server.test { call async throws in
            let tag = try #require(try await call(.get, path).headers[.eTag])
            #expect(try await call(.get, path, headers: [.ifNoneMatch: "\"x\", W/\(tag)"]).status == .notModified)
            #expect(try await call(.get, path, headers: [.ifNoneMatch: "\"x\""]).status == .ok)
            let same: HTTPFields = [.range: "bytes=0-0", .ifRange: tag]
            #expect(try await call(.get, path, headers: same).status == .partialContent)
            let changed: HTTPFields = [.range: "bytes=0-0", .ifRange: "\"x\""]
            #expect(try await call(.get, path, headers: changed).status == .ok)
        }
    }

    @Test func `a body that is not there yet is a conflict, one that never was is not found`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let spec = #"{"request":{"url":"https://origin.example/"}}"#
            let id = try #require(try await call(.post, "/v1/jobs", body: spec).json?["id"]?.string)
            #expect(try await call(.get, "/v1/jobs/\(id)/body").problem == .jobNotFinal)
            _ = try await call(.post, "/v1/jobs/\(id)/cancel")
            #expect(try await call(.get, "/v1/jobs/\(id)/body").problem == .notFound)
        }
    }

    @Test func `the body of a job that ends while it is looked for is found`() async throws {
        let server = try await TestServer()
        let id = try await server.queueJob()
        let bytes = Array("late".utf8)
        let body = StoredBody(
            location: .inline(bytes), bytes: 4, digest: SHA256Digest(of: bytes), contentType: nil)
        server.jobs.finish(afterLookAt: id, body: body)
        try await server.test { call async throws in
            let answer = try await call(.get, "/v1/jobs/\(id)/body")
            #expect(answer.status == .ok && answer.bytes == bytes)
        }
    }

    @Test(arguments: [1, 3])
    func `the body of a download is found while it goes from where it grew to where it is kept`(
        looks: Int
    ) async throws {
        let server = try await TestServer()
        let id = try await server.queueJob()
        let bytes = Array("whole".utf8)
        let body = StoredBody(
            location: .inline(bytes), bytes: 5, digest: SHA256Digest(of: bytes), contentType: nil)
        let spec = try JobSpec.make(url: "https://origin.example/")
        let live = server.live.add(ClaimedJob(id: id, tenant: server.key.tenant, spec: spec, claim: 1))
        let opened = Counter()
        live.begin(
            LiveBody(contentType: nil, filename: nil) { () throws(StoreError) in
                opened.add()
                // It is kept, and its job has ended, before the next look.
                if opened.count == looks { server.jobs.finish(id, body: body) }
                throw StoreError(.blobGone, "It has another name by now.")
            })
        try await server.test { call async throws in
            let answer = try await call(.get, "/v1/jobs/\(id)/body")
            #expect(answer.status == .ok && answer.bytes == bytes && opened.count == looks)
        }
        server.live.remove(live)
    }

    /// How often something was done.
    private final class Counter: Sendable {
        private let value = Mutex(0)

        var count: Int { value.withLock { $0 } }
        func add() { value.withLock { $0 += 1 } }
    }

    @Test func `a type that is not one field value is not passed on`() async throws {
        let (server, path) = try await Self.serve([1], type: "text/html\r\nX: y")
        try await server.test { call async throws in
            #expect(try await call(.get, path).headers[.contentType] == "application/octet-stream")
        }
    }

    @Test(arguments: [
        ("a b.txt", "attachment; filename=\"a b.txt\""),
        ("1\"/é€.txt", "attachment; filename=\"1_/_____.txt\"; filename*=UTF-8''1%22%2F%C3%A9%E2%82%AC.txt"),
    ])
    func `a name is sent in the form for everyone and, where that is not the whole, in the extended one`(
        name: String, field: String
    ) {
        #expect(Representation.headers(type: nil, filename: name)[.contentDisposition] == field)
    }
}
