import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// How many jobs of a tenant may wait, as its clients see it.
@Suite(.timeLimit(.minutes(2))) struct QuotaTests {
    // R3, SEC-45
    @Test func `beyond a tenant's quota jobs are refused until some have started, and all others end well`()
        async throws
    {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await ServiceProcess.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: ["TENANTS_MAXIMUM_WAITING_JOBS": "3"]
        ) { service in
            let line = #"{"request": {"url": "\#(origin.url("/"))"}}"#
            #expect(try await service.request(.post, "/v1/queue/pause").status == 200)
            var jobs: [String] = []
            for _ in 0..<2 {
                jobs.append(try #require(member(try await service.request(.post, "/v1/jobs", body: line).json, "id")))
            }
            let batch = try await service.request(
                .post, "/v1/jobs/batch", body: "\(line)\n\(line)\n", headers: [.contentType: "application/x-ndjson"])
            let results = try batch.text.split(separator: "\n").map {
                try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            jobs.append(try #require(member(results[0], "id")))
            #expect(member(results[1], "problem", "code") == "queueFull")
            let refused = try await service.request(.post, "/v1/jobs", body: line)
            #expect(refused.status == 429 && member(refused.json, "code") == "queueFull")
            #expect(refused.headers[.retryAfter] == "5")
            #expect(refused.headers[HTTPField.Name("RateLimit-Policy")!] == #""waitingJobs";q=3"#)
            #expect(refused.headers[HTTPField.Name("RateLimit")!] == #""waitingJobs";r=0;t=5"#)
            let queue = try await service.request(.get, "/v1/queue").json
            #expect(member(queue, "waiting") == 3 && member(queue, "maximumWaitingJobs") == 3)
            #expect(try await service.request(.post, "/v1/queue/resume").status == 200)
            for job in jobs { _ = try await service.job(job) { member($0, "state") == "succeeded" } }
            try await until { try await service.request(.post, "/v1/jobs", body: line).status == 202 }
        }
    }
}
