import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The responses of a service that cannot run jobs as fast as they come, or at all.
@Suite(.timeLimit(.minutes(2))) struct OverloadTests {
    private func answering() throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    // R5
    @Test func `a node that cannot extend its lease takes jobs with a warning, is not ready, and runs them later`()
        async throws
    {
        let origin = try answering()
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let body = #"{"request": {"url": "\#(origin.url("/"))"}}"#
            try await until { try await service.request(.get, "/readyz").status == 200 }
            #expect(try await service.request(.post, "/v1/jobs", body: body).json["warnings"] == nil)
            try await place.database.client.query("ALTER TABLE nodes RENAME TO hidden")
            try await until { try await service.request(.get, "/readyz").status == 503 }
            #expect(try await service.request(.get, "/readyz").text.contains("not extended its lease"))
            #expect(try await service.request(.get, "/metrics").text.contains("\nfetchd_worker_alive 0\n"))
            let answer = try await service.request(.post, "/v1/jobs", body: body)
            #expect(answer.status == 202)
            #expect(member(answer.json, "warnings", "0", "code") == "noLiveWorker")
            try await place.database.client.query("ALTER TABLE hidden RENAME TO nodes")
            try await until { try await service.request(.get, "/readyz").status == 200 }
            #expect(try await service.request(.get, "/metrics").text.contains("\nfetchd_worker_alive 1\n"))
            let id: String = try #require(member(answer.json, "id"))
            _ = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(try await service.stop() == 0)
        }
    }

    // R5
    @Test func `the age of the oldest job that could run is measured`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await ServiceProcess.with(
            allowing: ["127.0.0.1:\(origin.port)"],
            settings: ["WORKER_CONCURRENCY": "1", "WORKER_LEASE_SECONDS": "1"]
        ) { service in
            func age() async throws -> Double {
                let text = try await service.request(.get, "/metrics").text
                let line = try #require(text.firstMatch(of: /\nfetchd_queue_oldest_due_age_seconds (\S+)\n/))
                return try #require(Double(line.output.1))
            }
            #expect(try await age() == 0)
            let body = #"{"request": {"url": "\#(origin.url("/"))"}}"#
            for _ in 0..<2 { #expect(try await service.request(.post, "/v1/jobs", body: body).status == 202) }
            try await until { try await age() > 0.5 }
            gate.open()
            try await until { try await age() == 0 }
        }
    }

    // R3
    @Test func `an operator's key changes what a tenant may have waiting while nodes run, and no other key does`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key(scopes: .all))
            let body = #"{"request": "data:,x"}"#
            #expect(try await service.request(.post, "/v1/queue/pause").status == 200)
            #expect(try await service.request(.post, "/v1/jobs", body: body).status == 202)
            let path = "/v1/admin/tenants/default"
            let changed = try await service.request(.patch, path, body: #"{"maximumWaitingJobs": 1}"#)
            #expect(member(changed.json, "maximumWaitingJobs") == 1)
            try await until { try await service.request(.post, "/v1/jobs", body: body).status == 429 }
            #expect(try await place.run("tenants", "list").contains("default  weight 1  maximumWaitingJobs 1"))
            #expect(try await service.stop() == 0)
            let other = try await ServiceProcess.start(place, key: try await place.key())
            #expect(try await other.request(.get, path).status == 403)
            #expect(try await other.stop() == 0)
        }
    }

    // R3
    // Proves: REL-11.
    @Test func `while nothing can be stored, no more jobs run than there are places for twice`() async throws {
        let origin = try answering()
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: ["WORKER_CONCURRENCY": "2"]
        ) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let body = #"{"request": {"url": "\#(origin.url("/"))"}}"#
            func settles(_ count: Int) async throws -> Bool {
                try await service.request(.get, "/metrics").text.contains("\nfetchd_jobs_settling \(count)\n")
            }
            // The first heartbeat stores outcomes of lost jobs: it is over once a job has run.
            let first = try await service.request(.post, "/v1/jobs", body: #"{"request": "data:,x"}"#)
            _ = try await service.job(try #require(member(first.json, "id"))) { member($0, "state") == "succeeded" }
            var jobs: [String] = []
            let other = try await place.database.connect()
            for statement in ["BEGIN", "LOCK TABLE results IN EXCLUSIVE MODE"] as [Query] {
                try await other.query(statement)
            }
            for _ in 0..<20 {
                jobs.append(try #require(member(try await service.request(.post, "/v1/jobs", body: body).json, "id")))
            }
            try await until { try await settles(4) }
            let asked = origin.connections.indices.reduce(0) { sum, index in
                sum + origin.received(on: index).split(separator: "GET / ").count
            }
            #expect(asked == 4)
            await other.close()
            for job in jobs { _ = try await service.job(job) { member($0, "state") == "succeeded" } }
            #expect(try await settles(0))
            #expect(try await service.stop() == 0)
        }
    }

    // R3
    // Proves: SEC-45.
    @Test func `beyond a tenant's quota jobs are refused until some have started, and all others end well`()
        async throws
    {
        let origin = try answering()
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

    // Proves: REL-9.
    @Test func `a node whose disk is nearly full takes no jobs and is not ready, and is again when there is room`()
        async throws
    {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let directory = place.apart.directory
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try #require(mount("none", directory, "tmpfs", 0, "size=16m") == 0)
            defer { umount2(directory, Int32(MNT_DETACH)) }
            let service = try await ServiceProcess.start(place.apart, key: try await place.key())
            let body = #"{"request": "data:,x"}"#
            #expect(try await service.request(.post, "/v1/jobs", body: body).status == 202)
            let filler = "\(directory)/filler"
            #expect(FileManager.default.createFile(atPath: filler, contents: Data(count: 16_100_000)))
            try await until { try await service.request(.post, "/v1/jobs", body: body).status == 507 }
            #expect(try await service.request(.get, "/readyz").text.contains("The disk of the data directory"))
            #expect(try await service.request(.get, "/healthz").status == 200)
            try FileManager.default.removeItem(atPath: filler)
            try await until { try await service.request(.post, "/v1/jobs", body: body).status == 202 }
            #expect(try await service.request(.get, "/readyz").status == 200)
            #expect(try await service.stop() == 0)
        }
    }

    // R43: for all requests, and while no transfer ends.
    // Proves: REL-12.
    @Test func `the API answers while transfers have every place`() async throws {
        let (places, isOver) = (100, Progress())
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while isOver.value == 0 {
                try connection.send("1000\r\n\(String(repeating: "x", count: 4096))\r\n")
                poll(nil, 0, 200)
            }
            try connection.send("0\r\n\r\n")
        }
        try await ServiceProcess.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: ["WORKER_CONCURRENCY": "\(places)"]
        ) { service in
            let own =
                #""connections": {"maximumPerHost": 200}, "cache": {"requestCachePolicy": "#
                + #""reloadIgnoringLocalCacheData"}"#
            let line = #"{"request": "\#(origin.url("/"))", "configuration": {\#(own)}}"#
            let batch = try await service.request(
                .post, "/v1/jobs/batch", body: String(repeating: line + "\n", count: places + 10),
                headers: [.contentType: "application/x-ndjson"])
            #expect(batch.status == 200)
            try await until { origin.connections.count == places }
            let running = try #require(
                member(
                    try await service.request(.get, "/v1/jobs?state=running").json, "data", "0", "id", as: String.self))
            let calls: [(HTTPRequest.Method, String, String?, Int)] = [
                (.get, "/healthz", nil, 200), (.get, "/readyz", nil, 200), (.get, "/metrics", nil, 200),
                (.get, "/v1/jobs?limit=100", nil, 200), (.get, "/v1/jobs/\(running)", nil, 200),
                (.get, "/v1/stats", nil, 200), (.get, "/v1/queue", nil, 200), (.post, "/v1/jobs", line, 202),
                (.post, "/v1/sessions", "{}", 201), (.post, "/v1/groups", "{}", 201),
            ]
            try await withThrowingTaskGroup { group in
                for (method, path, body, status) in Array(repeating: calls, count: 10).joined() {
                    group.addTask {
                        let answer = try await service.request(method, path, body: body)
                        #expect(answer.status == status, "\(path): \(answer.text)")
                    }
                }
                try await group.waitForAll()
            }
            let cancelled = try await service.request(.post, "/v1/jobs/\(running)/cancel")
            #expect([200, 202].contains(cancelled.status), "\(cancelled.text)")
            _ = try await service.job(running) { member($0, "state") == "cancelled" }
            let ended = try await service.request(.get, "/v1/jobs?state=succeeded").json
            #expect(member(ended, "data", as: [Any].self)?.isEmpty == true)
            isOver.add(1)
            try await until {
                let left = try await service.request(.get, "/v1/queue").json
                return member(left, "waiting") == 0 && member(left, "running") == 0
            }
        }
    }
}
