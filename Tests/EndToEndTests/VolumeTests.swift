import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Two nodes with data directories of their own: whoever is asked has the bytes that the other one keeps.
@Suite(.timeLimit(.minutes(3))) struct VolumeTests {
    private struct Nodes {
        let place: ServiceProcess.Place
        let key: String
        let one: ServiceProcess
        let two: ServiceProcess
    }

    private func with(_ rules: [String], _ body: (Nodes) async throws -> Void) async throws {
        try await ServiceProcess.Place.with(allowing: rules) { place in
            let key = try await place.key()
            let nodes = Nodes(
                place: place, key: key, one: try await ServiceProcess.start(place, key: key),
                two: try await ServiceProcess.start(place.apart, key: key))
            try await body(nodes)
            for node in [nodes.one, nodes.two] { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    private func files(_ directory: String) -> Int {
        let all = FileManager.default.enumerator(atPath: directory + "/blobs/blobs")
        return all?.count { ($0 as? String)?.contains("blb_") == true } ?? 0
    }

    private func upload(_ bytes: [UInt8], to node: ServiceProcess) async throws -> String {
        let answer = try await node.send(.post, "/v1/blobs", .bytes(bytes))
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    @Test func `bodies, files and blobs are read on the node that lacks them, whole and in ranges`() async throws {
        let content = pattern(400_000)
        let origin = try await LoopbackServer.nginx(files: ["big.bin": Data(content)])
        try await with([origin.rule]) { nodes in
            for kind in ["data", "download"] {
                let job = try await nodes.one.fetch(origin.url("/big.bin"), more: #", "kind": "\#(kind)""#)
                let path = try #require(member(job, "body", "href", as: String.self))
                for node in [nodes.one, nodes.two] {
                    let whole = try await node.request(.get, path)
                    #expect(whole.status == 200 && whole.body == content, "\(kind)")
                    let part = try await node.request(.get, path, headers: [.range: "bytes=399990-"])
                    #expect(part.status == 206 && part.body == Array(content.suffix(10)))
                    #expect(try await node.request(.head, path).headers[.contentLength] == "400000")
                }
            }
            let blob = try await upload(content, to: nodes.one)
            #expect(try await nodes.two.request(.get, "/v1/blobs/\(blob)").body == content)
            #expect(files(nodes.place.apart.directory) == 0, "none was copied for good")
            // Another tenant sees as little there as here.
            let stranger = nodes.two.speaking(with: try await nodes.place.key(tenant: "stranger"))
            #expect(try await stranger.request(.get, "/v1/blobs/\(blob)").status == 404)
            #expect(try await nodes.two.request(.get, "/nodes/blobs/\(blob)?from=0&to=9").status == 401)
            let before = files(nodes.place.directory)
            #expect(try await nodes.two.request(.delete, "/v1/blobs/\(blob)").status == 204)
            #expect(files(nodes.place.directory) == before - 1)
        }
    }

    @Test func `an upload that one node has begun is continued on the other`() async throws {
        try await with([]) { nodes in
            let begin = try await nodes.one.send(
                .post, "/v1/blobs", .bytes(Array("hello ".utf8)), headers: [.uploadComplete: "?0"])
            let path = try #require(begin.headers[.location], "\(begin.text)")
            #expect(try await nodes.two.request(.head, path).headers[.uploadOffset] == "6")
            let wrong = try await append("world", to: path, at: 3, on: nodes.two)
            #expect(wrong.status == 409 && wrong.headers[.uploadOffset] == "6")
            let end = try await append("world", to: path, at: 6, on: nodes.two)
            #expect(end.status == 201, "\(end.text)")
            let href = try #require(member(end.json, "href", as: String.self))
            for node in [nodes.one, nodes.two] {
                #expect(try await node.request(.get, href).text == "hello world")
                #expect(try await node.request(.head, path).status == 404)
            }
        }
    }

    private func append(
        _ text: String, to path: String, at offset: Int, on node: ServiceProcess
    ) async throws -> ServiceProcess.Answer {
        try await node.send(
            .patch, path, .bytes(Array(text.utf8)),
            headers: [
                .uploadComplete: "?1", .uploadOffset: "\(offset)", .contentType: "application/partial-upload",
            ])
    }

    @Test func `while a node is away its bytes are out of reach, and jobs that send them wait for it`() async throws {
        let content = pattern(200_000)
        let echo = try await LoopbackServer.httpbin()
        try await ServiceProcess.Place.with(allowing: [echo.rule]) { place in
            let key = try await place.key()
            let (one, two) = (
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key)
            )
            let blob = try await upload(content, to: one)
            let begin = try await one.send(
                .post, "/v1/blobs", .bytes([1]), headers: [.uploadComplete: "?0"])
            let growing = try #require(begin.headers[.location])
            #expect(try await one.stop() == 0)
            let away = try await two.request(.get, "/v1/blobs/\(blob)")
            #expect(away.status == 503 && member(away.json, "code") == "blobStoreUnavailable", "\(away.text)")
            #expect(away.headers[.retryAfter] != nil)
            #expect(try await two.request(.head, growing).status == 503)
            let request =
                #"{"request": {"url": "\#(echo.url("/put"))", "method": "PUT", "body": {"blob": "\#(blob)"}}}"#
            let submitted = try await two.request(.post, "/v1/jobs", body: request)
            let id = try #require(member(submitted.json, "id", as: String.self), "\(submitted.text)")
            let cancelled = try await two.request(.post, "/v1/jobs", body: request)
            let other = try #require(member(cancelled.json, "id", as: String.self))
            for job in [id, other] { _ = try await two.job(job) { member($0, "state") == "running" } }
            #expect(try await two.request(.post, "/v1/jobs/\(other)/cancel").status < 300)
            _ = try await two.job(other) { member($0, "state") == "cancelled" }
            let again = try await ServiceProcess.start(place, key: key)
            let done = try await two.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
            #expect(member(done, "state") == "succeeded", "\(done)")
            #expect(try await two.request(.get, "/v1/blobs/\(blob)").body == content)
            #expect(try await two.request(.head, growing).headers[.uploadOffset] == "1")
            for node in [two, again] { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    @Test func `a node that others could not ask for its bodies does not start beside them`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let node = try await ServiceProcess.start(place, key: try await place.key())
            var environment = place.apart.environment
            environment["SERVER_HOST"] = "0.0.0.0"
            let refused = try await ProgramEnd.of(["serve"], environment)
            #expect(refused.status == 78 && refused.errors.contains("FETCHD_NODE_URL"), "\(refused.errors)")
            #expect(try await node.stop() == 0)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let uploadComplete = Self("Upload-Complete")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
