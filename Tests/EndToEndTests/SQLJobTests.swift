import FetchJobs
import Postgres
import TestSupport
import Testing

/// Jobs that another service stores in its own transactions.
@Suite struct SQLJobTests {
    /// The nodes look by themselves once in minutes here: it is the commit that wakes them (R42).
    @Test func `a job that another service commits is run, and one that breaks a rule fails`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "600"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.run("keys", "create"))
            let client = place.database.client
            // The node listens from some time on.
            try await until {
                try await !client.query(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                ).isEmpty
            }
            let ids = try await client.transaction { connection in
                var ids: [String] = []
                for url in ["\(origin.url())", "http://origin.example:99999/"] {
                    let rows = try await connection.query(
                        "SELECT fetchd.enqueue(json_build_object('request', \(url)::text))")
                    ids.append(try #require(try rows.first?.decode(String.self, at: 0)))
                }
                return ids
            }
            let done = try await service.job(ids[0]) { $0["finishedAt"] != nil }
            #expect(done["state"] as? String == "succeeded")
            let failed = try await service.job(ids[1]) { $0["finishedAt"] != nil }
            #expect(member(failed, "error", "name") == "badURL")
            #expect(try await service.stop() == 0)
        }
    }
}
