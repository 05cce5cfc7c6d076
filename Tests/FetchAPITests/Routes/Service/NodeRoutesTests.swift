import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// What nodes ask each other for, and nobody else may.
@Suite struct NodeRoutesTests {
    private func blob(in server: TestServer) async throws -> Blob.ID {
        let writer = try await server.blobs.create()
        try await writer.write(Array("hello".utf8))
        try await writer.finish()
        return writer.id
    }

    private func pass(
        _ server: TestServer, to purpose: BlobPass.Purpose, _ id: Blob.ID, at now: Timestamp = .now
    ) async throws -> HTTPFields {
        [.authorization: "Bearer \(BlobPass(to: purpose, id, now: now).text(try await server.signIns.secret()))"]
    }

    @Test func `a node with a pass gets the bytes that it asks for, and may have them removed`() async throws {
        let server = try await TestServer()
        let id = try await blob(in: server)
        try await server.test { call async throws in
            let path = "/nodes/blobs/\(id)"
            let answer = try await call(.get, path + "?from=1&to=4", headers: try await pass(server, to: .read, id))
            #expect(answer.status == .ok && answer.text == "ell")
            let end = try await call(.delete, path, headers: try await pass(server, to: .delete, id))
            #expect(end.status == .noContent && server.blobs.count == 0)
            let gone = try await call(.get, path + "?from=1&to=4", headers: try await pass(server, to: .read, id))
            #expect(gone.problem == .notFound)
        }
    }

    @Test func `neither a key of a client, nor a pass for something else or from before, opens anything`() async throws
    {
        let server = try await TestServer()
        let (id, other) = (try await blob(in: server), try await blob(in: server))
        try await server.test { call async throws in
            let old = Timestamp.now.advanced(by: .seconds(-61))
            let wrong: [HTTPFields] = [
                [:], [.authorization: server.authorization], [.authorization: "Bearer "],
                [.authorization: "Bearer \(Int64.max).AAAA"],
                try await pass(server, to: .delete, id), try await pass(server, to: .read, other),
                try await pass(server, to: .read, id, at: old),
            ]
            for headers in wrong {
                let answer = try await call(.get, "/nodes/blobs/\(id)?from=0&to=5", headers: headers)
                #expect(answer.status == .unauthorized)
            }
            let read = try await pass(server, to: .read, id)
            #expect(try await call(.delete, "/nodes/blobs/\(id)", headers: read).status == .unauthorized)
            #expect(server.blobs.count == 2)
        }
    }

    @Test func `what is not here is asked for elsewhere by nobody`() async throws {
        let server = try await TestServer()
        let id = Blob.ID(in: .new())
        server.nodes.add(NodeAddress(id: Node.ID(), url: "http://10.0.0.1:8080"), with: id.volume)
        try await server.test { call async throws in
            let answer = try await call(
                .get, "/nodes/blobs/\(id)?from=0&to=5", headers: try await pass(server, to: .read, id))
            #expect(answer.problem == .misdirectedRequest)
            #expect(server.nodes.requests.isEmpty)
        }
    }

    // MARK: Uploads

    @Test func `an upload that grows on another node goes on there`() async throws {
        let server = try await TestServer()
        let (id, url) = (Upload.ID(in: .new()), "http://10.0.0.1:8080")
        server.nodes.add(NodeAddress(id: Node.ID(), url: url), with: id.volume)
        server.nodes.answer(at: url, with: NodeAnswer(status: .noContent, headers: [.uploadOffset: "5"]) { nil })
        try await server.test { call async throws in
            let path = "/v1/uploads/\(id)"
            let headers: HTTPFields = [
                .uploadOffset: "2", .uploadComplete: "?0", .contentType: "application/partial-upload",
                .contentDigest: "sha-256=:AAAA:",
            ]
            let answer = try await call(.patch, path, headers: headers, body: "abc")
            #expect(answer.status == .noContent && answer.headers[.uploadOffset] == "5")
            let request = try #require(server.nodes.requests.first)
            #expect(request.method == .patch && request.target == path && request.body != nil)
            for field in headers { #expect(request.headers[field.name] == field.value) }
            #expect(try await call(.head, path).headers[.uploadOffset] == "5")
            #expect(server.nodes.requests.last?.body == nil)
            let looped = try await call(.head, path, headers: [.via: "1.1 \(Node.ID())"])
            #expect(looped.status == .serviceUnavailable)
            #expect(server.nodes.requests.count == 2)
        }
    }

    @Test func `an upload of a node that is gone is out of reach; one that never was is not there`() async throws {
        let server = try await TestServer()
        let (left, unknown) = (Upload.ID(in: .new()), Upload.ID(in: .new()))
        server.nodes.add(nil, with: left.volume)
        try await server.test { call async throws in
            let answer = try await call(.delete, "/v1/uploads/\(left)")
            #expect(answer.problem == .nodeUnreachable && answer.headers[.retryAfter] != nil)
            #expect(try await call(.delete, "/v1/uploads/\(unknown)").problem == .notFound)
        }
    }
}
