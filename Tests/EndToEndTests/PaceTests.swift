import HTTPTypes
import TestSupport
import Testing

/// Changing from one node how fast a job is that runs on another.
@Suite(.timeLimit(.minutes(2))) struct PaceTests {
    // R17: at 1024 bytes a second it would take five minutes.
    @Test(arguments: ["null", "100000000"])
    func `how fast a job is can be changed while it runs, from any node`(limit: String) async throws {
        let body = pattern(300_000)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
            }
        }
        try await LimiterTests.with(origin) { _, nodes in
            func patch(_ id: String, _ limit: String) async throws -> ServiceProcess.Answer {
                try await nodes[1].request(
                    .patch, "/v1/jobs/\(id)",
                    body: #"{"configuration": {"connections": {"maximumBytesPerSecond": \#(limit)}}}"#)
            }
            let slow = #", "configuration": {"connections": {"maximumBytesPerSecond": 1024}}"#
            let id = try await LimiterTests.submit(origin.url(), more: slow, to: nodes[0])
            _ = try await nodes[0].job(id) { member($0, "progress", "bytesReceived", as: Int.self) ?? 0 > 0 }
            let changed = try await patch(id, limit)
            #expect(changed.status == 200 && member(changed.json, "state") == "running", "\(changed.text)")
            let left: Int? = member(changed.json, "configuration", "connections", "maximumBytesPerSecond")
            #expect(left == Int(limit))
            let job = try await nodes[1].job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "attempts", as: [Any].self)?.count == 1)
            #expect(try await nodes[0].request(.get, "/v1/jobs/\(id)/body").body == body)
            #expect(try await patch(id, "2048").status == 409)
        }
    }
}
