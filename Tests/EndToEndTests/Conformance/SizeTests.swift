import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

let gibibyte = 1 << 30

/// nginx with a file of a gibibyte that takes no room.
func nginxWithAGibibyte() async throws -> [String: LoopbackServer] {
    let directory = try TemporaryDirectory()
    try directory.write("", to: "root/big")
    try #require(truncate(directory.file("root/big"), off_t(gibibyte)) == 0)
    return ["nginx": try await .nginx(in: directory)]
}

/// Large bodies and many jobs, and the memory that they take.
@Suite(.timeLimit(.minutes(3)), .sharedService { try await nginxWithAGibibyte() }) struct SizeTests {
    // R18
    // Proves: SES-25, TSK-3, REL-11.
    @Test func `a gibibyte is a file, and no part of its job or of the memory`() async throws {
        let rig = try SharedService.current
        _ = try await rig.fetch("data:,x")
        let before = try rig.service.residentBytes
        let id = try await rig.submit(
            #"{"kind": "download", "request": "\#(try rig.server("nginx").url("/big"))"}"#)
        _ = try await rig.service.job(id) { member($0, "state") == "succeeded" }
        let job = try await rig.service.request(.get, "/v1/jobs/\(id)").json
        #expect(member(job, "body", "bytes") == gibibyte)
        // The request and the result, as webhooks and followers get them.
        let told = try await rig.service.request(.get, "/v1/jobs/\(id)/events").body
        #expect(told.count < 4096)
        #expect(try rig.service.residentBytes - before < 64 << 20)
    }

    // R18: the origin waits for the reader, and the service for both.
    // Proves: TSK-15.
    @Test func `a reader who takes no more slows the origin down`() async throws {
        let rig = try SharedService.current
        let before = try rig.service.residentBytes
        let id = try await rig.submit(#"{"request": "\#(try rig.server("nginx").url("/big"))"}"#)
        let path = "/v1/jobs/\(id)/body"
        try await until { try await rig.service.request(.head, path).status == 200 }
        let (body, _) = try await rig.service.stream(path)
        var count = 0
        for try await chunk in body {
            count += chunk.count
            if count > 50 << 20 { break }
        }
        #expect(try rig.service.residentBytes - before < 64 << 20)
        _ = try await rig.service.request(.post, "/v1/jobs/\(id)/cancel")
        _ = try await rig.service.job(id) { ["cancelled", "succeeded"].contains(member($0, "state")) }
    }

    // Each keeps an answer in memory, as long as it lives.
    // Proves: SES-23, SES-3.
    @Test func `sessions that have ended leave nothing in memory`() async throws {
        let rig = try SharedService.current
        let body = String(repeating: "x", count: 200_000)
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=99", body: body))
        func run(_ count: Int, deletes: Bool = true) async throws -> Int {
            for _ in 0..<count {
                let session = try await rig.makeSession(#"{"kind": "ephemeral"}"#)
                let job = try await rig.fetch(play.url(), session: session)
                #expect(member(job, "body", "bytes") == 200_000)
                let end = try await rig.service.request(.post, "/v1/sessions/\(session)/invalidate?mode=finish")
                #expect([200, 202].contains(end.status))
                if deletes { _ = try await rig.service.request(.delete, "/v1/sessions/\(session)") }
            }
            return try rig.service.residentBytes
        }
        let before = try await run(100)
        // Kept, the bodies would be 40 MB, and the stored answers as much.
        let after = try await run(200)
        #expect(after - before < 30 << 20)
        // A session that is over keeps the results of its jobs until it is deleted, and nothing else.
        #expect(try await run(200, deletes: false) - after < 60 << 20)
    }
}
