import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Two nodes over one database: each forwards requests to the one that runs the job.
@Suite(.timeLimit(.minutes(2))) struct NodeTests {
    private struct Nodes {
        let owner: ServiceProcess
        let other: ServiceProcess
    }

    /// Runs a test over a node that runs every job and one that has no place for any.
    private func with(
        _ origin: WireOrigin, settings: [String: String] = [:], _ body: (Nodes) async throws -> Void
    ) async throws {
        let rules = ["127.0.0.1:\(origin.port)"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let key = try await place.key()
            let nodes = Nodes(
                owner: try await ServiceProcess.start(place, key: key),
                other: try await ServiceProcess.start(place, key: key))
            try await body(nodes)
            #expect(try await nodes.other.stop() == 0, "\(nodes.other.logged)")
            nodes.owner.send(SIGKILL)
            _ = try await nodes.owner.waitForEnd()
        }
    }

    /// A job that the owner runs: it has room, so it takes submitted jobs itself.
    private func submit(_ job: String, to nodes: Nodes) async throws -> String {
        let answer = try await nodes.owner.request(.post, "/v1/jobs", body: job)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    /// Sends the first part of a body, and the rest once its gate is open.
    private func origin(_ content: [UInt8], holdingAt held: Int, _ gate: Gate) throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\nETag: \"a\"\r\n\r\n")
                try connection.send(Array(content[..<held]))
                try gate.wait()
                try connection.send(Array(content[held...]))
            }
        }
    }

    @Test func `a node that stops keeps its jobs while they run, and gives its lease back then`() async throws {
        let (content, gate) = (pattern(1000), Gate())
        let origin = try origin(content, holdingAt: 500, gate)
        let settings = ["WORKER_LEASE_SECONDS": "5", "WORKER_DRAIN_SECONDS": "60"]
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)"], settings: settings
        ) { place in
            let key = try await place.key()
            let nodes = Nodes(
                owner: try await ServiceProcess.start(place, key: key),
                other: try await ServiceProcess.start(place, key: key))
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))", "method": "POST"}}"#, to: nodes)
            _ = try await nodes.other.job(id) { member($0, "progress", "bytesReceived") == 500 }
            let client = place.database.client
            /// Whether the lease of the node that runs the job lasts longer than it did.
            func isExtended(beyond time: Timestamp) async throws -> Bool {
                let rows = try await client.query(
                    """
                    SELECT n.lease_until > \(time) FROM nodes n WHERE n.id IN (SELECT node_id FROM queue)
                    """)
                return try rows.first?.decode(at: 0) ?? false
            }
            nodes.owner.send(SIGTERM)
            // Later than its last heartbeat before the stop lets it be.
            let end = try #require(
                try await client.query("SELECT now() + interval '6 seconds'").first?.decode(Timestamp.self, at: 0))
            try await until { try await isExtended(beyond: end) }
            gate.open()
            let job = try await nodes.other.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
            #expect(member(job, "state") == "succeeded", "\(job)")
            #expect(member(job, "attempts", as: [Any].self)?.count == 1)
            #expect(try await nodes.owner.waitForEnd() == 0, "\(nodes.owner.logged)")
            let live = try await client.query("SELECT count(*) FROM nodes WHERE lease_until > now()")
            #expect(try live.first?.decode(Int64.self, at: 0) == 1)
            #expect(try await nodes.other.stop() == 0)
        }
    }

    // Proves: LIF-10.
    @Test(arguments: ["data", "download"])
    func `a body that grows on one node is read from the other`(kind: String) async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await with(origin) { nodes in
            let id = try await submit(#"{"kind": "\#(kind)", "request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            let path = "/v1/jobs/\(id)/body"
            try await until { try await nodes.other.request(.head, path).status == 200 }
            let job = try await nodes.other.job(id) { member($0, "progress", "bytesReceived") == 300_000 }
            #expect(member(job, "state") == "running")
            let (body, response) = try await nodes.other.stream(path)
            #expect(response.status == .ok)
            var received: [UInt8] = []
            for try await chunk in body {
                received += chunk
                if received.count == 300_000 { gate.open() }
            }
            #expect(received == content)
            _ = try await nodes.other.job(id) { member($0, "state") == "succeeded" }
            let part = try await nodes.other.request(.get, path, headers: [.range: "bytes=299990-300009"])
            #expect(part.status == 206)
            #expect(part.body == Array(content[299_990..<300_010]))
        }
    }

    // Proves: ERR-5.
    @Test func `a body whose job fails on one node is cut short on the other`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n")
            try connection.send(pattern(300_000))
            try gate.wait()
        }
        try await with(origin) { nodes in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            try await until { try await nodes.other.request(.head, "/v1/jobs/\(id)/body").status == 200 }
            let (body, _) = try await nodes.other.stream("/v1/jobs/\(id)/body")
            await #expect(throws: LoadError.self) {
                for try await _ in body { gate.open() }
            }
        }
    }

    // The client is held as long as the origin does not read, wherever the two meet.
    // Proves: UPL-4, UPL-5, LIF-9, CON-12, UPL-9.
    @Test func `a streamed body goes through one node to the other as fast as the origin takes it`() async throws {
        let gate = Gate()
        let content = pattern(24 << 20)
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try gate.wait()
            let body = try connection.receiveChunked()
            let digest = SHA256Digest(of: body).field
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(digest.utf8.count)\r\n\r\n\(digest)")
        }
        try await with(origin) { nodes in
            let id = try await submit(
                #"{"request": {"url": "\#(origin.url("/f"))", "method": "PUT", "body": {"stream": true}}}"#, to: nodes)
            let (pipe, written) = (BodyPipe(), Progress())
            async let answer = nodes.other.send(.put, "/v1/jobs/\(id)/body", .stream(pipe))
            async let writing: Void = {
                for start in stride(from: 0, to: content.count, by: 65_536) {
                    try await pipe.write(Array(content[start..<min(start + 65_536, content.count)]))
                    written.add(65_536)
                }
                pipe.finish()
            }()
            // The origin has read nothing: the sent bytes lie in buffers, and those are bounded.
            try await until { written.value > 0 }
            let progress = try await nodes.other.job(id) { member($0, "progress", "bytesSent") ?? 0 > 0 }
            #expect(member(progress, "state") == "running")
            #expect(written.value < content.count)
            gate.open()
            try await writing
            #expect(try await answer.status == 204)
            let job = try await nodes.other.job(id) { member($0, "state") == "succeeded" }
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await nodes.other.request(.get, href).text == SHA256Digest(of: content).field)
        }
    }

    // Proves: TSK-9, LIF-13.
    @Test func `events of a job on one node are followed on the other`() async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await with(origin) { nodes in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            let (events, _) = try await nodes.other.stream("/v1/jobs/\(id)/events")
            var text = ""
            for try await chunk in events {
                text += String(decoding: chunk, as: UTF8.self)
                if text.contains("\"bytesReceived\":300000") { gate.open() }
            }
            #expect(text.contains("id: 1.1\nevent: job.started\ndata: {"))
            #expect(text.contains("id: 1.2\nevent: job.response\ndata: {"))
            #expect(text.contains("id: final\nevent: job.finished\ndata: {"))
            let last = HTTPField.Name("Last-Event-ID")!
            let path = "/v1/jobs/\(id)/events"
            #expect(try await nodes.other.request(.get, path, headers: [last: "final"]).status == 204)
        }
    }

    @Test func `the page of a job is live on a node that does not run it`() async throws {
        let (content, gate, end) = (pattern(600_000), Gate(), Gate())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                try connection.send(Array(content[..<150_000]))
                try gate.wait()
                try connection.send(Array(content[150_000..<450_000]))
                try end.wait()
                try connection.send(Array(content[450_000...]))
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let nodes = Nodes(
                owner: try await ServiceProcess.start(place, key: key),
                other: try await ServiceProcess.start(place, key: key))
            let id = try await submit(
                #"{"kind": "download", "request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            try await until { try await nodes.other.request(.head, "/v1/jobs/\(id)/body").status == 200 }
            try await Browser.with { browser in
                try await browser.open(nodes.other.base + "/dashboard/jobs/\(id)")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                let progress = "[data-live=progress]"
                try await until { try await browser.text(progress).contains("150") }
                #expect(try await browser.text("h1").contains("running"))
                // The browser is told apart from a reload by what only this page knows.
                try await browser.run("window.isSame = true")
                gate.open()
                try await until { try await browser.text(progress).contains("450") }
                end.open()
                try await until { try await browser.text("h1").contains("succeeded") }
                #expect(try await browser.evaluate("window.isSame", as: Bool.self))
                #expect(try await browser.text("main").contains("Ended: succeeded"))
            }
            #expect(try await nodes.other.stop() == 0, "\(nodes.other.logged)")
            #expect(try await nodes.owner.stop() == 0, "\(nodes.owner.logged)")
        }
    }

    // Proves: TSK-9, LIF-13, DLG-9.
    @Test func `a client that comes back to the other node gets what it has missed`() async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await with(origin) { nodes in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            let path = "/v1/jobs/\(id)/events"
            let last = HTTPField.Name("Last-Event-ID")!
            for (seen, isSent) in [("1.1", true), ("1.2", false)] {
                let (events, _) = try await nodes.other.stream(path, headers: [last: seen])
                var text = ""
                for try await chunk in events {
                    text += String(decoding: chunk, as: UTF8.self)
                    if text.contains("\"bytesReceived\":300000") { break }
                }
                #expect(text.contains("event: job.response\n") == isSent)
            }
            gate.open()
            _ = try await nodes.other.job(id) { member($0, "state") == "succeeded" }
        }
    }

    /// Until the lease of a dead node runs out nobody knows more; a client that follows the job stays and sees
    /// its end.
    // Proves: REL-2.
    @Test func `what only a dead node knows is refused, and its job goes on elsewhere`() async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await with(origin, settings: ["WORKER_LEASE_SECONDS": "3"]) { nodes in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            let path = "/v1/jobs/\(id)"
            try await until { try await nodes.other.request(.head, path + "/body").status == 200 }
            let (events, _) = try await nodes.other.stream(path + "/events")
            var (text, hasDied) = ("", false)
            for try await chunk in events {
                text += String(decoding: chunk, as: UTF8.self)
                guard !hasDied, text.contains("\"bytesReceived\":300000") else { continue }
                hasDied = true
                nodes.owner.send(SIGKILL)
                _ = try await nodes.owner.waitForEnd()
                let answer = try await nodes.other.request(.get, path + "/body")
                #expect(answer.status == 503)
                #expect(member(answer.json, "code") == "nodeUnreachable")
                #expect(answer.headers[.retryAfter] != nil)
                let job = try await nodes.other.request(.get, path)
                #expect(job.status == 200)
                #expect(job.json["progress"] == nil)
                gate.open()
            }
            #expect(text.contains("id: final\nevent: job.finished\n"))
            let attempts = try await nodes.other.request(.get, path).json["attempts"] as? [Any]
            #expect(attempts?.count == 2)
            #expect(try await nodes.other.request(.get, path + "/body").body == content)
        }
    }

    // With the lease that a node has without a setting. The origin keeps the first request waiting.
    // Proves: REL-2.
    @Test func `a job of a node that was killed goes on elsewhere within its lease and two seconds`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let asked = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield(.now)
                if asked.add(1) > 1 { try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
            }
        }
        try await with(origin) { nodes in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, to: nodes)
            var times = arrivals.makeAsyncIterator()
            _ = await times.next()
            let killed = ContinuousClock.now
            nodes.owner.send(SIGKILL)
            let goesOn = try #require(await times.next())
            #expect(goesOn - killed <= .seconds(15 + 2))
            let job = try await nodes.other.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
            #expect(asked.value == 2)
        }
    }
}
