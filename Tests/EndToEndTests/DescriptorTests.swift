import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// A node that may have few files and sockets open.
@Suite(.timeLimit(.minutes(3))) struct DescriptorTests {
    // Proves: REL-11.
    @Test func `at a limit of 512 descriptors, jobs of 400 sessions all succeed, and so does another tenant's`()
        async throws
    {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let other = try await place.key(tenant: "other")
            let service = try await ServiceProcess.start(
                place, key: try await place.key(), by: ["/usr/bin/prlimit", "--nofile=512:512"])
            let start = ContinuousClock.now
            for round in 0..<2 {
                try await Self.run(400, of: service, at: origin.url("/\(round)"))
            }
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"request": "\#(origin.url("/other"))"}"#,
                headers: [.prefer: "wait=30", .authorization: "Bearer \(other)"])
            #expect(answer.status == 201 && member(answer.json, "state") == "succeeded", "\(answer.text)")
            #expect(ContinuousClock.now - start < .seconds(90))
            #expect(try await service.request(.get, "/healthz").status == 200)
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    // Proves: REL-11.
    @Test func `at a limit of 512 descriptors, 200 downloads at once all succeed`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
                // Each of those that can has a connection, a file and the lock of its place.
                Thread.sleep(forTimeInterval: 1)
                try connection.send("k")
            }
        }
        let settings = ["WORKER_CONCURRENCY": "200", "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "200"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(
                place, key: try await place.key(), by: ["/usr/bin/prlimit", "--nofile=512:512"])
            let lines = (0..<200).map { #"{"kind": "download", "request": "\#(origin.url("/\($0)"))"}"# }
            try await Self.run(lines, of: service)
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    // Proves: REL-11.
    @Test func `a job for which the system has no descriptor waits until it has one`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            #expect(try await service.request(.get, "/readyz").status == 200)
            // Fewer than it has: open ones stay open.
            try await service.limitDescriptors(to: 10)
            let job = try await service.request(.post, "/v1/jobs", body: #"{"request": "\#(origin.url())"}"#).json
            try await until {
                try await service.request(.get, "/metrics").text.contains("\nfetchd_loads_waiting_for_descriptors 1\n")
            }
            #expect(origin.connections.isEmpty && service.logged.contains("loads wait for descriptors"))
            #expect(try await service.isIdle)
            try await service.limitDescriptors(to: 512)
            _ = try await service.job(try #require(member(job, "id"))) { member($0, "state") == "succeeded" }
        }
    }

    /// Runs one job of each of so many sessions, all at once, and sees all of them succeed.
    private static func run(_ count: Int, of service: ServiceProcess, at url: String) async throws {
        var lines: [String] = []
        for _ in 0..<count {
            let session = try await service.request(.post, "/v1/sessions", body: "{}").json
            let id = try #require(member(session, "id", as: String.self))
            lines.append(#"{"request": "\#(url)", "session": "\#(id)"}"#)
        }
        try await run(lines, of: service)
    }

    /// Runs jobs, all at once, and sees all of them succeed.
    private static func run(_ lines: [String], of service: ServiceProcess) async throws {
        let batch = try await service.request(
            .post, "/v1/jobs/batch", body: lines.joined(separator: "\n"),
            headers: [.contentType: "application/x-ndjson"])
        #expect(batch.status == 200)
        try await until {
            let queue = try await service.request(.get, "/v1/queue").json
            return member(queue, "waiting") == 0 && member(queue, "running") == 0
        }
        let failed = try await service.request(.get, "/v1/jobs?state=failed").json
        #expect(member(failed, "data", as: [Any].self)?.isEmpty == true, "\(failed)")
    }
}
