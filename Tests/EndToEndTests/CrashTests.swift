import Foundation
import Glibc
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// The jobs and the data of a service that is killed in the middle of its work.
@Suite struct CrashTests {
    private func submit(
        _ count: Int, _ origin: WireOrigin, _ service: ServiceProcess, methods: [String] = ["GET"]
    ) async throws {
        // Each has a URL of its own: of equal ones at once a single request is made.
        let lines = (0..<count).map { number in
            #"{"request":{"url":"\#(origin.url("/\(number)"))","#
                + #""method":"\#(methods[number % methods.count])"},"#
                + #""configuration":{"connections":{"maximumPerHost":500}}}"#
        }
        let answer = try await service.request(
            .post,
            "/v1/jobs/batch",
            body: lines.joined(separator: "\n"),
            headers: [.contentType: "application/x-ndjson"]
        )
        #expect(answer.text.split(separator: "\n").filter { $0.contains("job_") }.count == count)
    }

    /// How many jobs are in which final state, once all are.
    private func states(of count: Int, in database: TestDatabase) async throws -> [String: Int64] {
        var states: [String: Int64] = [:]
        try await until {
            let rows = try await database.client.query("SELECT state, count(*) FROM results GROUP BY state")
            states = try Dictionary(
                rows.map { (try $0.decode(String.self, at: 0), try $0.decode(Int64.self, at: 1)) },
                uniquingKeysWith: +
            )
            return states.values.reduce(0, +) >= count
        }
        return states
    }

    // GETs are repeated, POSTs that may have left are not; every job ends in one final state.
    // Proves: LIF-13, REL-1, REL-6.
    @Test(.timeLimit(.minutes(2)))
    func `every acknowledged job ends once, and no POST is sent twice`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield()
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "1", "WORKER_CONCURRENCY": "100"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            try await submit(300, origin, first, methods: ["GET", "POST"])
            var arrived = arrivals.makeAsyncIterator()
            for _ in 0..<50 { await arrived.next() }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            gate.open()

            let second = try await ServiceProcess.start(place, key: key)
            let states = try await states(of: 300, in: place.database)
            #expect(states.values.reduce(0, +) == 300)
            let posts = origin.connections.indices.flatMap { index in
                origin.received(on: index).split(separator: "\r\n").filter { $0.hasPrefix("POST /") }
            }
            let rows = try await place.database.client.query(
                "SELECT count(*) FROM results WHERE state = 'failed' AND error_name = 'networkConnectionLost'"
            )
            let lost = try #require(try rows.first?.decode(Int64.self, at: 0))
            #expect(lost > 0 && states["failed", default: 0] == lost)
            #expect(Set(posts).count == posts.count)
            let left = try await place.database.client.query("SELECT count(*) FROM queue")
            #expect(try left.first?.decode(Int64.self, at: 0) == 0)
            #expect(try await second.stop() == 0)
        }
    }

    // A kill between the answer of the receiver and the outcome.
    @Test(.timeLimit(.minutes(2)))
    func `messages whose outcomes were not stored are sent again under their ids`() async throws {
        let told = Mutex<[String]>([])
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
                let id = head.firstMatch(of: /(?i)webhook-id: (\S+)/).map { String($0.output.1) } ?? ""
                told.withLock { $0.append(id) }
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(receiver.port)"], settings: settings) { place in
            let (key, client) = (try await place.key(), place.database.client)
            let first = try await ServiceProcess.start(place, key: key)
            let answer = try await first.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(receiver.url("/hook"))"}"#)
            let endpoint = try #require(member(answer.json, "id", as: String.self))
            let line = #"{"request": "data:,x", "webhook": {"endpoint": "\#(endpoint)"}}"# + "\n"
            // No outcome is stored while somebody else holds the attempts.
            let sent = try await client.transaction { connection in
                try await connection.query("LOCK TABLE webhook_attempts IN EXCLUSIVE MODE")
                let batch = try await first.request(
                    .post, "/v1/jobs/batch", body: String(repeating: line, count: 100),
                    headers: [.contentType: "application/x-ndjson"])
                #expect(batch.status == 200, "\(batch.text)")
                try await until { told.withLock { $0.count >= 8 } }
                first.send(SIGKILL)
                #expect(try await first.waitForEnd() == -SIGKILL)
                // The server has not noticed.
                let waiting: Query = "datname = current_database() AND query LIKE '-- deliveries.settle%'"
                try await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(waiting)")
                try await until {
                    try await client.query("SELECT FROM pg_stat_activity WHERE \(waiting)").isEmpty
                }
                return told.withLock { $0 }
            }
            let second = try await ServiceProcess.start(place, key: key)
            // Their claims are over.
            try await client.query(
                """
                UPDATE webhook_deliveries
                SET next_attempt_at = next_attempt_at - interval '60 seconds',
                    last_attempt_at = last_attempt_at - interval '60 seconds'
                """)
            try await until {
                try await client.query("SELECT FROM webhook_deliveries WHERE state = 'delivered'").count == 100
            }
            let later = Set(told.withLock { $0 }.dropFirst(sent.count))
            #expect(later.isSuperset(of: sent) && later.count == 100)
            #expect(try await second.stop() == 0)
        }
    }

    // Killed before the end of an attempt is stored, and again between that and the callback.
    @Test(.timeLimit(.minutes(2)))
    func `each attempt that is stored has its callback, and no other has one`() async throws {
        let asked = Mutex(0)
        let told = Mutex<[(id: String, of: String)]>([])
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = String(decoding: try connection.receive(length), as: UTF8.self)
                if head.hasPrefix("POST /hook") {
                    let id = head.firstMatch(of: /(?i)upstash-message-id: (\S+)/).map { String($0.output.1) } ?? ""
                    let of = body.firstMatch(of: /"sourceMessageId":"(\w+)"/).map { String($0.output.1) } ?? ""
                    told.withLock { $0.append((id, of)) }
                    try gate.wait()
                } else {
                    asked.withLock { $0 += 1 }
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let count = 20
        // Long enough for a busy machine to prolong it: an attempt whose lease runs out is one more to wait after.
        // So many connections, too: jobs beyond them may wait until attempts are stored.
        let settings = ["WORKER_LEASE_SECONDS": "3", "WORKER_MAXIMUM_CONNECTIONS_PER_HOST": "\(count)"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let (key, client) = (try await place.key(), place.database.client)
            let first = try await ServiceProcess.start(place, key: key)
            let message =
                #"{"destination": "\#(origin.url("/"))", "headers": {"Upstash-Callback": "\#(origin.url("/hook"))"}}"#
            // No attempt is stored while somebody else holds the results.
            try await client.transaction { connection in
                try await connection.query("LOCK TABLE results IN EXCLUSIVE MODE")
                let batch = "[\(Array(repeating: message, count: count).joined(separator: ","))]"
                #expect(try await first.request(.post, "/v2/batch", body: batch).status == 200)
                // On a busy machine the lease may run out meanwhile, and some are asked for again.
                try await until { asked.withLock { $0 >= count } }
                first.send(SIGKILL)
                #expect(try await first.waitForEnd() == -SIGKILL)
                // The server has not noticed.
                let waiting: Query = "datname = current_database() AND query LIKE '-- queue.settle%'"
                try await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(waiting)")
                try await until {
                    try await client.query("SELECT FROM pg_stat_activity WHERE \(waiting)").isEmpty
                }
            }
            #expect(told.withLock { $0.isEmpty })
            let second = try await ServiceProcess.start(place, key: key)
            try await until { told.withLock { $0.count >= 5 } }
            second.send(SIGKILL)
            #expect(try await second.waitForEnd() == -SIGKILL)
            gate.open()
            let third = try await ServiceProcess.start(place, key: key)
            let states = try await states(of: 2 * count, in: place.database)
            #expect(states == ["succeeded": Int64(2 * count)])
            let callbacks = try await client.query(
                """
                SELECT label, count(*)
                FROM jobs, unnest(labels) AS label
                WHERE label LIKE '%:callbackOf:%'
                GROUP BY label
                """)
            #expect(callbacks.count == count)
            #expect(try callbacks.allSatisfy { try $0.decode(Int64.self, at: 1) == 1 })
            // Told again, a callback has its id: who hears of it twice can tell.
            let pairs = told.withLock { $0 }
            #expect(Set(pairs.map(\.of)).count == count && Set(pairs.map(\.id)).count == count)
            #expect(try await third.stop() == 0)
        }
    }

    // R3
    // Proves: ERR-7, REL-4, REL-5.
    @Test(.timeLimit(.minutes(3)))
    func `a job that kills every node it runs on fails in the end, and the jobs beside it do not`() async throws {
        let running = Mutex<ServiceProcess?>(nil)
        let kills = Mutex(0)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("/poison") {
                    let count = kills.withLock { kills in
                        kills += 1
                        return kills
                    }
                    // Those beside it are lost with the first two nodes.
                    if count == 2 { gate.open() }
                    running.withLock { $0 }?.send(SIGKILL)
                    return
                }
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            var service = try await ServiceProcess.start(place, key: key)
            try await submit(20, origin, service)
            running.withLock { $0 = service }
            let body =
                #"{"request": {"url": "\#(origin.url("/poison"))"},"#
                + #""configuration": {"connections": {"maximumPerHost": 500}}}"#
            // The answer may be lost with the node.
            _ = try? await service.request(.post, "/v1/jobs", body: body)
            // Lost twice, tried with others, and then alone.
            for _ in 0..<6 {
                #expect(try await service.waitForEnd() == -SIGKILL)
                service = try await ServiceProcess.start(place, key: key)
                running.withLock { $0 = service }
            }
            #expect(try await states(of: 21, in: place.database) == ["succeeded": 20, "failed": 1])
            #expect(kills.withLock { $0 } == 6)
            let failed = try await place.database.client.query(
                "SELECT FROM results WHERE state = 'failed' AND error_name = 'workerCrashed'")
            #expect(failed.count == 1)
            #expect(try await service.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `jobs that were lost with two nodes run many at a time, on all nodes`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield()
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        // Heartbeats find the jobs that may have taken nodes down.
        let settings = ["WORKER_LEASE_SECONDS": "3"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place.apart, key: key)
            _ = try await place.run("queue", "pause")
            try await submit(40, origin, first)
            try await place.database.client.query("UPDATE queue SET crashes = 2, claim = 2")
            _ = try await place.run("queue", "resume")
            var arrived = arrivals.makeAsyncIterator()
            for _ in 0..<32 { await arrived.next() }
            gate.open()
            #expect(try await states(of: 40, in: place.database) == ["succeeded": 40])
            #expect(try await first.stop() == 0)
            #expect(try await second.stop() == 0)
        }
    }

    // Proves: REL-13.
    @Test func `a service that is asked to stop finishes what it runs`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            arrival.yield()
            try gate.wait()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            try await submit(1, origin, service)
            for await _ in arrivals { break }
            service.send(SIGTERM)
            gate.open()
            #expect(try await service.waitForEnd() == 0)
            #expect(try await states(of: 1, in: place.database) == ["succeeded": 1])
        }
    }

    /// Tells a service twice to stop; its exit status.
    private func stopAtOnce(_ service: ServiceProcess) async throws -> Int32 {
        service.send(SIGTERM)
        try await until { try await service.request(.get, "/readyz").status == 503 }
        service.send(SIGTERM)
        return try await service.waitForEnd()
    }

    // Ctrl-C twice: neither the lame duck nor the drain is waited for, and no lease has to run out.
    // Proves: REL-13.
    @Test(.timeLimit(.minutes(2)))
    func `a second signal gives what runs to other nodes at once`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            arrival.yield()
            try gate.wait()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let settings = [
            "SERVER_LAME_DUCK_SECONDS": "3600", "WORKER_DRAIN_SECONDS": "3600", "WORKER_LEASE_SECONDS": "3600",
        ]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            try await submit(1, origin, first)
            var arrived = arrivals.makeAsyncIterator()
            await arrived.next()
            #expect(try await stopAtOnce(first) == 0, "\(first.logged)")
            let free = try await place.database.client.query("SELECT FROM queue WHERE node_id IS NULL")
            #expect(free.count == 1)
            let second = try await ServiceProcess.start(place.apart, key: key)
            await arrived.next()
            gate.open()
            #expect(try await states(of: 1, in: place.database) == ["succeeded": 1])
            #expect(try await stopAtOnce(second) == 0, "\(second.logged)")
        }
    }
}
