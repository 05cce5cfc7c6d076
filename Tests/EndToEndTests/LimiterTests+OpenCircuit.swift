import Foundation
import HTTPTypes
import TestSupport
import Testing

extension LimiterTests {
    private static func path(_ origin: WireOrigin) -> String { "/v1/hosts/127.0.0.1:\(origin.port)" }

    /// An origin that answers its first request with 429 and this patience, and all others well.
    private static func origin(
        _ seen: Seen, asking seconds: Int, _ answer: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let number = seen.begin(head)
                if number > 1 { try answer(number) }
                seen.end()
                let status = number > 1 ? "200 OK" : "429 Too Many Requests\r\nRetry-After: \(seconds)"
                try connection.send("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    private static func attempts(of job: String, at node: ServiceProcess) async throws -> Int? {
        (try await node.request(.get, "/v1/jobs/\(job)").json["attempts"] as? [Any])?.count
    }

    // R35: those behind the job that was refused spend no attempt on hearing that again, on any node.
    @Test func `a host that asks for patience is left alone by all nodes, until the time or a client says otherwise`()
        async throws
    {
        let seen = Seen()
        let origin = try Self.origin(seen, asking: 3600)
        try await Self.with(origin) { _, nodes in
            let retrying = #", "configuration": {"retry": {"statuses": [429], "maximumAttempts": 2}}"#
            let refused = try await nodes[0].fetch(origin.url("/refused"))
            #expect(member(refused, "state") == "succeeded" && member(refused, "response", "status") == 429)
            // The other node may take some until it has heard of it.
            var early = 0
            try await until {
                _ = try await Self.submit(origin.url("/early"), to: nodes[1])
                early = try await member(nodes[0].request(.get, Self.path(origin)).json, "waiting", as: Int.self) ?? 0
                return early > 0
            }
            var jobs: [String] = []
            for number in 0..<10 {
                jobs.append(try await Self.submit(origin.url("/late"), more: retrying, to: nodes[number % 2]))
            }
            try await until {
                let host = try await nodes[1].request(.get, Self.path(origin)).json
                #expect(member(host, "circuit") == "open" && member(host, "circuitReason") == "429, Retry-After")
                return member(host, "waiting") == early + 10
            }
            #expect(!seen.paths.contains("/late"))
            #expect(try await nodes[1].request(.post, "\(Self.path(origin))/resume").status == 200)
            try await Self.waitUntilDone(jobs, at: nodes[0])
            #expect(member(try await nodes[0].request(.get, Self.path(origin)).json, "circuit") == "closed")
            for job in jobs { #expect(try await Self.attempts(of: job, at: nodes[1]) == 1) }
        }
    }

    // R35
    @Test func `patience at one port holds up no job for another`() async throws {
        let (seen, others) = (Seen(), Seen())
        let origin = try Self.origin(seen, asking: 3600)
        let other = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                others.begin(head)
                others.end()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let rules = [origin, other].map { "127.0.0.1:\($0.port)" }
        try await ServiceProcess.with(allowing: rules) { service in
            _ = try await service.fetch(origin.url("/refused"))
            let held = try await Self.submit(origin.url("/held"), to: service)
            try await until { try await member(service.request(.get, Self.path(origin)).json, "waiting") == 1 }
            #expect(member(try await service.fetch(other.url("/other")), "state") == "succeeded")
            #expect(try await service.request(.get, Self.path(other)).status == 404)
            #expect(member(try await service.request(.get, "/v1/jobs/\(held)").json, "state") == "queued")
            #expect(others.paths == ["/other"])
        }
    }

    // R35
    // Proves: LIF-14.
    @Test func `when the time has passed one job is tried, and its answer lets others go on`() async throws {
        let (seen, gate) = (Seen(), Gate())
        let origin = try Self.origin(seen, asking: 1) { if $0 == 2 { try gate.wait() } }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let start = ContinuousClock.now
            _ = try await service.fetch(origin.url("/refused"))
            var jobs: [String] = []
            for number in 0..<10 { jobs.append(try await Self.submit(origin.url("/\(number)"), to: service)) }
            try await until { seen.now == 1 }
            #expect(ContinuousClock.now - start >= .milliseconds(900))
            try await until { try await member(service.request(.get, Self.path(origin)).json, "waiting") == 9 }
            #expect(try await member(service.request(.get, Self.path(origin)).json, "circuit") == "halfOpen")
            gate.open()
            try await Self.waitUntilDone(jobs, at: service)
            // Of those that began together one answer counts: it may take another to close the circuit.
            _ = try await service.fetch(origin.url("/more"))
            #expect(try await service.request(.get, Self.path(origin)).status == 404)
            for job in jobs { #expect(try await Self.attempts(of: job, at: service) == 1) }
        }
    }
}
