import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs that may wait for a quiet time.
@Suite(.timeLimit(.minutes(2))) struct DiscretionTests {
    // Proves: SES-15.
    @Test func `a discretionary job runs once the node has little to do`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("/busy") { try gate.wait() }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "1", "WORKER_CONCURRENCY": "4"]
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { service in
            func submit(_ job: String) async throws -> String {
                let answer = try await service.request(.post, "/v1/jobs", body: job)
                return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            }
            let busy = try await submit(#"{"request": "\#(origin.url("/busy"))"}"#)
            try await until { origin.received().contains("/busy") }
            let patient = try await submit(#"{"request": "\#(origin.url("/patient"))", "discretionary": true}"#)
            // A place of four is taken, so that none is for jobs that could wait: others pass it.
            _ = try await service.fetch(origin.url("/other"))
            let waiting = try await service.request(.get, "/v1/jobs/\(patient)").json
            #expect(member(waiting, "state") == "scheduled" && member(waiting, "discretionary") == true)
            gate.open()
            _ = try await service.job(busy) { $0["state"] as? String == "succeeded" }
            _ = try await service.job(patient) { $0["state"] as? String == "succeeded" }
        }
    }
}
