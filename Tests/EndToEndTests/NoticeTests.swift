import FetchStorage
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Three nodes over one database, and what they tell each other of jobs.
@Suite(.timeLimit(.minutes(2))) struct NoticeTests {
    private struct Nodes {
        let all: [ServiceProcess]
        let client: Client

        /// How often a statement was answered, on all nodes together.
        func count(_ statement: String) async throws -> Int {
            var sum = 0
            for node in all {
                let text = try await node.request(.get, "/metrics").text
                let sample = "fetchd_database_statement_duration_seconds_count{statement=\"\(statement)\"} "
                sum +=
                    text.split(separator: "\n").first { $0.hasPrefix(sample) }
                    .flatMap { Int($0.dropFirst(sample.count)) } ?? 0
            }
            return sum
        }

        /// What has written the rows of the nodes last.
        func writes() async throws -> [String] {
            try await client.query("SELECT xmin::text FROM nodes ORDER BY id").map { try $0.decode(at: 0) }
        }
    }

    /// Runs a test over nodes of one slot each, whose next heartbeat is far away.
    private func with(_ origin: WireOrigin, _ body: (Nodes) async throws -> Void) async throws {
        let settings = ["WORKER_LEASE_SECONDS": "600", "WORKER_CONCURRENCY": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            var nodes: [ServiceProcess] = []
            for _ in 0..<3 { nodes.append(try await ServiceProcess.start(place, key: key)) }
            try await body(Nodes(all: nodes, client: place.database.client))
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    @Test func `a notice of jobs wakes nodes with free slots only, and writes the row of none`() async throws {
        let (gate, asked) = (Gate(), Progress())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                asked.add(1)
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await with(origin) { nodes in
            let (last, number) = (nodes.all[2], Progress())
            func submit() async throws {
                // Loads of one URL would wait for the first one's answer in the cache.
                let body = #"{"request": "\#(origin.url("/\(number.add(1))"))"}"#
                #expect(try await last.request(.post, "/v1/jobs", body: body).status == 202)
            }
            // One for the node that stores it, and one for each that is told.
            for _ in 0..<3 { try await submit() }
            try await until { asked.value == 3 }

            let (writes, claims) = (try await nodes.writes(), try await nodes.count("queue.claim"))
            let (beats, looks) = (try await nodes.count("nodes.heartbeat"), try await nodes.count("nodes.look"))
            var notices = await nodes.client.notifications(on: "fetchd").makeAsyncIterator()
            #expect(await notices.next() == .listening)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 { group.addTask { try await submit() } }
                try await group.waitForAll()
            }
            let hasNotice = await notices.next() != nil
            #expect(hasNotice)
            #expect(try await nodes.writes() == writes)
            #expect(try await nodes.count("nodes.heartbeat") == beats)
            #expect(try await nodes.count("nodes.look") == looks)
            #expect(try await nodes.count("queue.claim") == claims)

            gate.open()
            try await until {
                try await nodes.client.query("SELECT FROM results WHERE state = 'succeeded'").count == 203
            }
            #expect(try await nodes.writes() == writes)
        }
    }

    @Test func `a change that other nodes have to hear of is read by them without a write`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try gate.wait() }
        }
        try await with(origin) { nodes in
            let body = #"{"request": "\#(origin.url())"}"#
            let answer = try await nodes.all[0].request(.post, "/v1/jobs", body: body)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let writes = try await nodes.writes()
            #expect(try await nodes.all[2].request(.post, "/v1/jobs/\(id)/cancel").status < 300)
            _ = try await nodes.all[2].job(id) { member($0, "state") == "cancelled" }
            #expect(try await nodes.writes() == writes)
            gate.open()
        }
    }
}
