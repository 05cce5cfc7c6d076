import FetchEngine
import FetchJobs
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Suspending, resuming and cancelling from any node the jobs that run on another.
@Suite struct SuspendTests {
    /// Two services over one database; the first runs the jobs that are submitted to it.
    private func withTwo(
        _ origin: WireOrigin,
        _ body: (ServiceProcess, ServiceProcess) async throws -> Void
    ) async throws {
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place, key: key)
            // From its next heartbeat on the first knows that there is another, and notifies it of changes.
            do { try await body(first, second) } catch {
                try await first.stop()
                try await second.stop()
                throw error
            }
            try await first.stop()
            try await second.stop()
        }
    }

    private func submit(_ origin: WireOrigin, more: String = "", _ service: ServiceProcess) async throws -> String {
        let body = #"{"request": {"url": "\#(origin.url())"}\#(more)}"#
        let answer = try await service.request(.post, "/v1/jobs", body: body)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func held(_ count: Int, on service: ServiceProcess) async throws {
        try await until {
            try await service.request(.get, "/metrics").text.contains("\nfetchd_jobs_suspended \(count)\n")
        }
    }

    private static func state(_ job: [String: Any]) -> String? { member(job, "state") }

    /// An origin that answers once the gate is open, and tells of each request that arrives.
    private static func gated() throws -> (WireOrigin, Gate, AsyncStream<Void>) {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield()
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        return (origin, gate, arrivals)
    }

    // R7
    // Proves: TSK-6, TSK-7.
    @Test(.timeLimit(.minutes(2)))
    func `a job that runs on one node is held and let go from another`() async throws {
        let (origin, gate, arrivals) = try Self.gated()
        try await withTwo(origin) { first, second in
            let id = try await submit(origin, first)
            for await _ in arrivals { break }
            let asked = try await second.request(.post, "/v1/jobs/\(id)/suspend")
            #expect(asked.status == 202 && Self.state(asked.json) == "suspended")
            try await held(1, on: first)
            gate.open()
            // The answer is there; nobody takes it.
            #expect(Self.state(try await first.request(.get, "/v1/jobs/\(id)").json) == "suspended")
            let list = try await second.request(.get, "/v1/jobs?state=suspended")
            #expect(member(list.json, "data", "0", "id") == id)
            _ = try await second.request(.post, "/v1/jobs/\(id)/resume")
            let job = try await second.job(id) { Self.state($0) == "succeeded" }
            #expect(member(job, "attempts", as: [Any].self)?.count == 1)
            try await held(0, on: first)
            for change in ["suspend", "resume"] {
                let refused = try await second.request(.post, "/v1/jobs/\(id)/\(change)")
                #expect(refused.status == 409 && member(refused.json, "code") == "jobFinal")
            }
        }
    }

    // What the origin sends while its job is held waits, and is there once when it goes on.
    // Proves: TSK-7.
    @Test(.timeLimit(.minutes(2)))
    func `who reads a body gets each byte once, however often its job is held meanwhile`() async throws {
        let (piece, gates) = (200_000, (0..<6).map { _ in Gate() })
        let content = pattern(piece * (gates.count + 1))
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                for part in 0...gates.count {
                    try connection.send(Array(content[part * piece..<(part + 1) * piece]))
                    if part < gates.count { try gates[part].wait() }
                }
            }
        }
        defer { for gate in gates { gate.open() } }
        try await withTwo(origin) { first, second in
            let id = try await submit(origin, first)
            let path = "/v1/jobs/\(id)/body"
            try await until { try await second.request(.head, path).status == 200 }
            var (received, opened) = ([UInt8](), 0)
            for try await chunk in try await second.stream(path).0 {
                received += chunk
                // All that was sent has come: the next piece is sent while the job is held.
                guard opened < gates.count, received.count >= (opened + 1) * piece else { continue }
                _ = try await second.request(.post, "/v1/jobs/\(id)/suspend")
                try await held(1, on: first)
                gates[opened].open()
                opened += 1
                _ = try await second.request(.post, "/v1/jobs/\(id)/resume")
            }
            #expect(opened == gates.count && received == content)
            let job = try await first.job(id) { Self.state($0) == "succeeded" }
            #expect(member(job, "attempts", as: [Any].self)?.count == 1)
            #expect(try await first.request(.get, path).body == content)
        }
    }

    // The times of a transfer stand still while it is held, that of its job does not.
    // Proves: TSK-7.
    @Test(.timeLimit(.minutes(2)))
    func `a job that is held expires all the same`() async throws {
        let (origin, gate, arrivals) = try Self.gated()
        try await withTwo(origin) { first, second in
            let time = Timestamp.now.advanced(by: .seconds(3))
            let id = try await submit(origin, more: #", "expiresAt": "\#(time)""#, first)
            for await _ in arrivals { break }
            _ = try await second.request(.post, "/v1/jobs/\(id)/suspend")
            let job = try await second.job(id) { Self.state($0) == "failed" }
            #expect(member(job, "error", "name") == "timedOut")
            #expect(Timestamp.now >= time)
            gate.open()
        }
    }

    // R11: a held job stays held, whatever dies.
    // Proves: TSK-7.
    @Test(.timeLimit(.minutes(2)))
    func `a job stays held when its node is killed, and another one runs it in the end`() async throws {
        let (origin, gate, arrivals) = try Self.gated()
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await submit(origin, first)
            for await _ in arrivals { break }
            _ = try await first.request(.post, "/v1/jobs/\(id)/suspend")
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            let lost = try await second.job(id) { member($0, "attempts", "0", "error") == "networkConnectionLost" }
            #expect(Self.state(lost) == "suspended")
            _ = try await second.request(.post, "/v1/jobs/\(id)/resume")
            let job = try await second.job(id) { Self.state($0) == "succeeded" }
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
            try await second.stop()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a job that is held can be cancelled from another node`() async throws {
        let (origin, gate, arrivals) = try Self.gated()
        try await withTwo(origin) { first, second in
            let id = try await submit(origin, first)
            for await _ in arrivals { break }
            _ = try await first.request(.post, "/v1/jobs/\(id)/suspend")
            try await held(1, on: first)
            _ = try await second.request(.post, "/v1/jobs/\(id)/cancel")
            _ = try await second.job(id) { Self.state($0) == "cancelled" }
            try await held(0, on: first)
            gate.open()
        }
    }

    @Test func `a service that stops does not wait for what is held`() async throws {
        let (origin, gate, arrivals) = try Self.gated()
        defer { gate.open() }
        let settings = ["WORKER_DRAIN_SECONDS": "600"]
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { service in
            let id = try await submit(origin, service)
            for await _ in arrivals { break }
            _ = try await service.request(.post, "/v1/jobs/\(id)/suspend")
            try await held(1, on: service)
        }
    }

    // Proves: TSK-5.
    @Test(arguments: ["", "ephemeral"])
    func `a job may start held`(kind: String) async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            var more = #", "suspended": true"#
            if !kind.isEmpty {
                let session = try await service.request(.post, "/v1/sessions", body: #"{"kind": "\#(kind)"}"#)
                more += #", "session": "\#(try #require(member(session.json, "id", as: String.self)))""#
            }
            let id = try await submit(origin, more: more, service)
            #expect(Self.state(try await service.request(.get, "/v1/jobs/\(id)").json) == "suspended")
            #expect(origin.connections.isEmpty)
            _ = try await service.request(.post, "/v1/jobs/\(id)/resume")
            _ = try await service.job(id) { Self.state($0) == "succeeded" }
        }
    }

    // Proves: DLD-14, DLD-16, TSK-10.
    @Test(.timeLimit(.minutes(2)))
    func `a held download goes on from its bytes after a restart`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            guard let head = try connection.receiveHead() else { return }
            if head.contains("Range: bytes=5-") {
                return try connection.send(
                    "HTTP/1.1 206 P\r\nETag: \"a\"\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\n56789")
            }
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\n01234")
            arrival.yield()
            try gate.wait()
        }
        defer { gate.open() }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await submit(origin, more: #", "kind": "download""#, first)
            for await _ in arrivals { break }
            _ = try await first.job(id) { member($0, "progress", "bytesReceived") == 5 }
            _ = try await first.request(.post, "/v1/jobs/\(id)/suspend")
            try await held(1, on: first)
            #expect(try await first.stop() == 0)
            let second = try await ServiceProcess.start(place, key: key)
            #expect(Self.state(try await second.request(.get, "/v1/jobs/\(id)").json) == "suspended")
            _ = try await second.request(.post, "/v1/jobs/\(id)/resume")
            let job = try await second.job(id) { Self.state($0) == "succeeded" }
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await second.request(.get, href).text == "0123456789")
            #expect(origin.received(on: 1).contains("Range: bytes=5-"))
            try await second.stop()
        }
    }
}
