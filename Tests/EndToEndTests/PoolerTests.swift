import HTTPTypes
import Postgres
import TestSupport
import Testing

/// A service whose connections go through pgbouncer in transaction mode (R42).
@Suite(.timeLimit(.minutes(2)), .enabled(if: LoopbackServer.pgbouncer != nil)) struct PoolerTests {
    // R42: with fewer connections than the service has itself, each statement may be another one's.
    @Test(arguments: [true, false])
    func `jobs go through a pooler in transaction mode`(listens: Bool) async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=1\r\n\r\nok")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let pooler = try await LoopbackServer.pgbouncer(before: place.database, connections: 3)
            let pooled = place.through(pooler, listens: listens)
            let first = try await ServiceProcess.start(pooled, key: key)
            let second = try await ServiceProcess.start(pooled.apart, key: key)
            let line = #"{"request": {"url": "\#(origin.url())"}}"#
            let lines = Array(repeating: line, count: 40).joined(separator: "\n")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, service) in [first, second].enumerated() {
                    for batch in 0..<5 {
                        group.addTask {
                            let answer = try await service.request(
                                .post, "/v1/jobs/batch", body: lines,
                                headers: [.contentType: "application/x-ndjson", .idempotencyKey: "\(batch)-\(number)"])
                            #expect(answer.text.split(separator: "\n").filter { $0.contains("job_") }.count == 40)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let client = place.database.client
            try await until {
                try await client.query("SELECT FROM results WHERE state = 'succeeded'").count == 400
            }
            // Stored for another node, and heard of without its looking when there is a way to.
            let job = try await second.fetch(origin.url("/last"))
            #expect(job["state"] as? String == "succeeded")
            let listening = try await client.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
            #expect(listening.count == (listens ? 2 : 0))
            #expect(try await first.stop() == 0)
            #expect(try await second.stop() == 0)
        }
    }

    @Test func `a pooler without a way around it is refused where the schema would be changed`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            var environment = place.environment
            environment["DATABASE_PREPARED_STATEMENTS"] = "false"
            let end = try await ProgramEnd.of(["serve"], environment)
            #expect(end.status != 0)
            #expect(end.errors.contains("DATABASE_DIRECT_URL"))
        }
    }
}

extension ServiceProcess.Place {
    /// The same database through a pooler; commands that a pooler cannot carry go past it, or are left out.
    fileprivate func through(_ pooler: LoopbackServer, listens: Bool) -> Self {
        var environment = environment
        environment["DATABASE_DIRECT_URL"] = listens ? database.connectionString : nil
        environment["DATABASE_MIGRATE"] = "\(listens)"
        environment["DATABASE_PREPARED_STATEMENTS"] = "false"
        environment["DATABASE_URL"] = "host=127.0.0.1 port=\(pooler.port) user=postgres dbname=\(database.name)"
        return Self(database: database, directory: directory, environment: environment)
    }
}
