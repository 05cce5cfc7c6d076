import Crypto
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct BlobRoutesTests {
    private func blob(_ call: TestCalls, _ text: String, _ headers: HTTPFields = [:]) async throws -> String {
        let answer = try await call(.post, "/v1/blobs", headers: headers, body: text)
        try #require(answer.status == .created, "\(answer.text)")
        return try #require(answer.json?["id"]?.string)
    }

    @Test func `a blob reads back as it was sent, with its type and digest`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/blobs", headers: [.contentType: "text/csv"], body: "a,b,c")
            #expect(answer.status == .created)
            let path = try #require(answer.json?["href"]?.string)
            #expect(answer.headers[.location] == path)
            #expect(answer.json?["bytes"]?.integer == 5)
            #expect(answer.json?["digest"]?.string == SHA256Digest(of: Array("a,b,c".utf8)).field)
            let whole = try await call(.get, path)
            #expect(whole.text == "a,b,c")
            #expect(whole.headers[.contentType] == "text/csv")
            #expect(whole.headers[.contentDisposition] == "attachment")
            let part = try await call(.get, path, headers: [.range: "bytes=2-2"])
            #expect(part.status == .partialContent)
            #expect(part.text == "b")
            #expect(try await call(.head, path).headers[.contentLength] == "5")
        }
    }

    @Test(arguments: [HTTPField.Name("Content-Digest")!, HTTPField.Name("Repr-Digest")!])
    func `a digest that is wrong stores nothing`(name: HTTPField.Name) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let right = SHA256Digest(of: Array("hello".utf8)).field
            let long = "sha-512=:\(Data(SHA512.hash(data: Data("hello".utf8))).base64EncodedString()):"
            for field in [right, long, "unixsum=:AAAA:", "nonsense"] {
                #expect(try await call(.post, "/v1/blobs", headers: [name: field], body: "hello").status == .created)
            }
            for field in [right, long] {
                let answer = try await call(.post, "/v1/blobs", headers: [name: field], body: "hellO")
                #expect(answer.problem == .digestMismatch)
            }
            #expect(server.catalog.count == 4)
        }
    }

    @Test func `a key makes one blob of equal requests and refuses others`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let key: HTTPFields = [.idempotencyKey: "k1"]
            let first = try await blob(call, "hello", key)
            let again = try await call(.post, "/v1/blobs", headers: key, body: "hello")
            #expect(again.json?["id"]?.string == first)
            #expect(again.headers[.idempotencyReplayed] == "true")
            #expect(try await call(.post, "/v1/blobs", headers: key, body: "other").problem == .idempotencyKeyReused)
            #expect(server.catalog.count == 1)
        }
    }

    @Test func `a blob that a job sends cannot be deleted, another one can`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let (used, free) = (try await blob(call, "used"), try await blob(call, "free"))
            let job =
                #"{"kind":"upload","request":{"url":"https://o.example/","method":"PUT","body":{"blob":"\#(used)"}}}"#
            #expect(try await call(.post, "/v1/jobs", body: job).status == .accepted)
            #expect(try await call(.delete, "/v1/blobs/\(used)").problem == .blobInUse)
            #expect(try await call(.delete, "/v1/blobs/\(free)").status == .noContent)
            #expect(try await call(.get, "/v1/blobs/\(free)").problem == .notFound)
            #expect(try await call(.delete, "/v1/blobs/\(free)").problem == .notFound)
        }
    }

    @Test func `a job that names blobs which are not there is refused, and each is named`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let here = try await blob(call, "x")
            let body = #"""
                {"request": {"url": "https://o.example/", "method": "POST", "body": {"multipart": [
                    {"name": "a", "blob": "\#(here)"}, {"name": "b", "blob": "\#(Blob.ID())"}]}}}
                """#
            let answer = try await call(.post, "/v1/jobs", body: body)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?.count == 1)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/request/body/multipart/1/blob")
            #expect(server.jobs.count == 0)
        }
    }

    // Proves: SEC-44.
    @Test func `a body beyond the limit, with a content coding, or kept for no time is refused`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let coded: HTTPFields = [.contentEncoding: "gzip"]
            #expect(try await call(.post, "/v1/blobs", headers: coded, body: "x").problem == .unsupportedMediaType)
            #expect(try await call(.post, "/v1/blobs?expiresAfter=0", body: "x").problem == .invalidParameter)
            let kept = try await call(.post, "/v1/blobs?expiresAfter=60", body: "x")
            #expect(kept.json?["expiresAt"]?.string != nil)
            #expect(server.catalog.count == 1)
        }
    }
}
