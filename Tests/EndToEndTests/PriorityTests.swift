import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Which of the jobs that wait goes first.
@Suite struct PriorityTests {
    // One job runs at a time, and none before all of them wait.
    // Proves: BEY-4.
    @Test func `the job of the highest priority goes first, as it was changed last, and its server is told`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try connection.send(answer()) }
        }
        let rule = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.with(allowing: [rule], settings: ["WORKER_CONCURRENCY": "1"]) { service in
            #expect(try await service.request(.post, "/v1/queue/pause").status == 200)
            var ids: [String: String] = [:]
            for (name, more) in [
                ("raised", #", "priority": 0"#), ("low", #", "priority": 0.1"#), ("usual", ""),
                ("lowered", #", "priority": 1"#), ("high", #", "priority": 0.8"#),
            ] {
                let answer = try await service.request(
                    .post, "/v1/jobs", body: #"{"request": "\#(origin.url("/\(name)"))"\#(more)}"#)
                ids[name] = member(answer.json, "id")
            }
            let own = #"{"url": "\#(origin.url("/own"))", "headers": {"Priority": "u=4, i"}}"#
            let answer = try await service.request(.post, "/v1/jobs", body: #"{"request": \#(own), "priority": 0.9}"#)
            ids["own"] = member(answer.json, "id")
            for (name, priority) in [("raised", 1), ("lowered", 0)] {
                let id = try #require(ids[name])
                #expect(member(try await service.request(.get, "/v1/jobs/\(id)").json, "state") == "queued")
                let changed = try await service.request(
                    .patch, "/v1/jobs/\(id)", body: #"{"priority": \#(priority)}"#,
                    headers: [.contentType: "application/merge-patch+json"])
                #expect(changed.status == 200 && member(changed.json, "priority") == priority, "\(changed.text)")
            }
            for priority in ["1.1", "-1", #""high""#] {
                let refused = try await service.request(
                    .post, "/v1/jobs", body: #"{"request": "\#(origin.url())", "priority": \#(priority)}"#)
                #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/priority")
            }
            #expect(try await service.request(.post, "/v1/queue/resume").status == 200)
            for id in ids.values { _ = try await service.job(id) { member($0, "state") == "succeeded" } }
        }
        let all = origin.connections.indices.map { origin.received(on: $0) }.joined()
        let requests = all.components(separatedBy: "GET /").dropFirst()
        let names = requests.map { $0.prefix { $0 != " " } }
        #expect(names == ["raised", "own", "high", "usual", "low", "lowered"])
        let told = requests.map { $0.firstMatch(of: /\r\nPriority: (.*?)\r\n/).map { String($0.output.1) } }
        #expect(told == ["u=0", "u=4, i", "u=1", nil, "u=6", "u=7"])
    }
}
