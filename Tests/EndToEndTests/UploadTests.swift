import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Bodies that jobs send, through a running service.
@Suite struct UploadTests {
    // An uploaded blob is sent with its length and type.
    // Proves: TSK-4, UPL-1, UPL-3, SES-25, TSK-1.
    @Test func `a blob is sent as it was uploaded`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let content = String(repeating: "0123456789", count: 30_000)
            let blob = try await service.request(
                .post, "/v1/blobs", body: content, headers: [.contentType: "text/csv"])
            #expect(blob.status == 201)
            let id = try #require(member(blob.json, "id", as: String.self))
            let request = #", "method": "PUT", "body": {"blob": "\#(id)"}"#
            let job = try await service.fetch(origin.url("/put"), request: request, more: #", "kind": "upload""#)
            let href = try #require(member(job, "body", "href", as: String.self))
            let echo = try await service.request(.get, href).json
            #expect(member(echo, "data") == content)
            #expect(member(echo, "headers", "Content-Length") == "300000")
            #expect(member(echo, "headers", "Content-Type") == "text/csv")
            #expect(try await service.request(.delete, "/v1/blobs/\(id)").status == 204)
        }
    }

    // The blob is sent again to where a 307 leads, without asking anyone.
    // Proves: UPL-7, UPL-11.
    @Test func `a blob is repeated after a redirect`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let blob = try await service.request(
                .post, "/v1/blobs", body: "again", headers: [.contentType: "text/plain"])
            let id = try #require(member(blob.json, "id", as: String.self))
            let job = try await service.fetch(
                origin.url("/redirect-to?url=/put&status_code=307"),
                request: #", "method": "PUT", "body": {"blob": "\#(id)"}"#)
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(member(try await service.request(.get, href).json, "data") == "again")
        }
    }

    // Proves: BEY-29, UPL-1.
    @Test func `a form with files is sent as multipart`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let blob = try await service.request(
                .post, "/v1/blobs", body: "stored", headers: [.contentType: "text/plain"])
            let id = try #require(member(blob.json, "id", as: String.self))
            let request = #"""
                , "method": "POST", "body": {"multipart": [{"name": "title", "text": "Holiday"},
                {"name": "one", "blob": "\#(id)"}, {"name": "two", "base64": "aW5saW5l", "filename": "two.txt"}]}
                """#
            let job = try await service.fetch(origin.url("/post"), request: request)
            let href = try #require(member(job, "body", "href", as: String.self))
            let echo = try await service.request(.get, href).json
            #expect(member(echo, "form", "title") == "Holiday")
            #expect(member(echo, "files", "one") == "stored")
            #expect(member(echo, "files", "two") == "inline")
        }
    }
}
