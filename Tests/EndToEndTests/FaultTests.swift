import Foundation
import Glibc
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// Faults under a service while it works; `scripts/crash-trial` does the same to thousands of jobs.
@Suite(.timeLimit(.minutes(3))) struct FaultTests {
    /// How often each path was asked for.
    private final class Requests: Sendable {
        private let counts = Mutex<[String: Int64]>([:])

        var all: [String: Int64] { counts.withLock { $0 } }
        var total: Int64 { all.values.reduce(0, +) }

        func note(_ head: String) {
            let path = String(head.split(separator: " ")[1])
            counts.withLock { $0[path, default: 0] += 1 }
        }
    }

    private func origin(_ requests: Requests, gate: Gate? = nil) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                requests.note(head)
                try gate?.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    /// Sends a batch until all of it is accepted: every other job is a POST.
    private func submit(_ count: Int, _ name: String, _ origin: WireOrigin, to service: ServiceProcess) async throws {
        let lines = (0..<count).map { number in
            let method = number.isMultiple(of: 2) ? "GET" : "POST"
            return #"{"request":{"url":"\#(origin.url("/\(name)/\(number)"))","method":"\#(method)"},"#
                + #""configuration":{"connections":{"maximumPerHost":100}}}"#
        }
        let headers: HTTPFields = [.contentType: "application/x-ndjson", .idempotencyKey: name]
        try await until {
            let answer = try await service.request(
                .post, "/v1/jobs/batch", body: lines.joined(separator: "\n"), headers: headers)
            return answer.text.split(separator: "\n").filter { $0.contains("job_") }.count == count
        }
    }

    /// Waits until all jobs are final, and tells whether each has a result that it may have.
    private func judge(_ count: Int64, _ requests: Requests, _ connection: Connection) async throws {
        try await until { try await self.count("queue", connection) == 0 }
        #expect(try await self.count("jobs", connection) == count)
        #expect(try await self.count("results", connection) == count)
        let otherwise = try await connection.query(
            "SELECT FROM results WHERE state <> 'succeeded' AND error_name <> 'networkConnectionLost'")
        #expect(otherwise.isEmpty)
        let counted = try await connection.query("SELECT sum(jobs)::bigint FROM job_counts")
        #expect(try counted.first?.decode(Int64.self, at: 0) == count)
        let rows = try await connection.query(
            """
            SELECT j.spec #>> '{request,method}', substring(j.spec #>> '{request,url}' FROM '/[^/]+/[0-9]+$'), r.state,
                count(a.number) + count(DISTINCT r.attempt)
            FROM jobs j
            JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
            LEFT JOIN attempts a ON a.tenant_id = j.tenant_id AND a.job_id = j.id
            GROUP BY 1, 2, 3
            """)
        let seen = requests.all
        for row in rows {
            let isPost = try row.decode(String.self, at: 0) == "POST"
            let path = try row.decode(String.self, at: 1)
            let state = try row.decode(String.self, at: 2)
            #expect(isPost || state == "succeeded", "\(path)")
            #expect(seen[path, default: 0] <= (isPost ? 1 : try row.decode(Int64.self, at: 3)), "\(path)")
        }
    }

    private func count(_ table: Query, _ connection: Connection) async throws -> Int64? {
        try await connection.query("SELECT count(*) FROM \(table)").first?.decode(at: 0)
    }

    // R3, R6: statements under way on a connection may be done or not; either way no job is lost.
    // Proves: REL-1, REL-6.
    @Test func `connections that end in the middle of batches lose no job`() async throws {
        let requests = Requests()
        let origin = try origin(requests)
        let settings = ["WORKER_LEASE_SECONDS": "2"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let connection = try await place.database.connect()
            let service = try await ServiceProcess.start(place, key: try await place.key())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in 0..<8 { group.addTask { try await submit(50, "b\(batch)", origin, to: service) } }
                group.addTask {
                    for _ in 0..<30 {
                        try await connection.query(
                            """
                            SELECT pg_terminate_backend(pid)
                            FROM pg_stat_activity
                            WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
                            """)
                    }
                }
                try await group.waitForAll()
            }
            try await judge(400, requests, connection)
            #expect(try await service.stop() == 0)
            await connection.close()
        }
    }

    // R3
    // Proves: REL-2, REL-3, REL-6.
    @Test(arguments: [1, 2])
    func `a node that stands still for longer than its lease writes nothing that is not its own`(
        nodes: Int
    ) async throws {
        let (requests, gate) = (Requests(), Gate())
        let origin = try origin(requests, gate: gate)
        let settings = ["WORKER_LEASE_SECONDS": "1", "WORKER_CONCURRENCY": "60"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let connection = try await place.database.connect()
            let first = try await ServiceProcess.start(place, key: key)
            let second = nodes == 2 ? try await ServiceProcess.start(place, key: key) : nil
            try await submit(100, "b", origin, to: first)
            try await until { requests.total >= 30 }
            first.send(SIGSTOP)
            // Until the lease has run out, or another node has found that.
            try await until {
                let alive = try await connection.query("SELECT FROM nodes WHERE lease_until > now()").count
                return alive < nodes
            }
            first.send(SIGCONT)
            gate.open()
            try await judge(100, requests, connection)
            #expect(try await first.stop() == 0)
            #expect(try await second?.stop() ?? 0 == 0)
            await connection.close()
        }
    }

    /// A connection to another database of the same server.
    private func administrator(of database: TestDatabase) async throws -> Connection {
        let string = database.connectionString.replacing("dbname=\(database.name)", with: "dbname=postgres")
        return try await Connection.open(Connection.Configuration(connectionString: string), on: TestDatabase.loop)
    }

    /// Does to its clients the same as a restart: they are put out, and nobody is let in.
    private func close(_ database: TestDatabase, _ administrator: Connection) async throws {
        try await administrator.query("ALTER DATABASE \(.identifier(database.name)) ALLOW_CONNECTIONS false")
        try await administrator.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(database.name)")
    }

    // R6
    // Proves: REL-8.
    @Test func `a node ends when its database stays away`() async throws {
        let settings = ["DATABASE_GIVE_UP_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let administrator = try await administrator(of: place.database)
            try await close(place.database, administrator)
            #expect(try await service.waitForEnd() == 69)
            // Its log is read by another thread, which may be later than the news of its end.
            try await until { service.logged.contains("the database could not be reached") }
            await administrator.close()
        }
    }

    // R6
    // Proves: REL-8.
    @Test func `a database that restarts is found again, and loses no job`() async throws {
        let requests = Requests()
        let origin = try origin(requests)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let connection = try await place.database.connect()
            let service = try await ServiceProcess.start(place, key: try await place.key())
            try await submit(20, "before", origin, to: service)
            let administrator = try await administrator(of: place.database)
            try await close(place.database, administrator)
            try await until { try await service.request(.get, "/readyz").status == 503 }
            try await administrator.query(
                "ALTER DATABASE \(.identifier(place.database.name)) ALLOW_CONNECTIONS true")
            try await until { try await service.request(.get, "/readyz").status == 200 }
            try await submit(20, "after", origin, to: service)
            await connection.close()
            let later = try await place.database.connect()
            try await judge(40, requests, later)
            #expect(try await service.stop() == 0)
            await later.close()
            await administrator.close()
        }
    }
}
