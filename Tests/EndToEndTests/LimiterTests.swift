import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Limits of hosts and flows, over two nodes and one database, with an origin that counts.
@Suite(.timeLimit(.minutes(2))) struct LimiterTests {
    /// The requests that an origin has seen.
    final class Seen: Sendable {
        private let state = Mutex((now: 0, most: 0, paths: [String]()))

        var now: Int { state.withLock { $0.now } }
        var most: Int { state.withLock { $0.most } }
        var paths: [String] { state.withLock { $0.paths } }

        /// Which request it is, counted from 1.
        @discardableResult
        func begin(_ head: String) -> Int {
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
                state.paths.append(String(head.split(separator: " ")[1]))
                return state.paths.count
            }
        }

        func end() { state.withLock { $0.now -= 1 } }
    }

    static func origin(_ seen: Seen, _ gate: Gate? = nil) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if !head.contains("/probe") {
                    seen.begin(head)
                    try gate?.wait()
                    seen.end()
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    static func with(
        _ origin: WireOrigin, settings: [String: String] = [:],
        _ body: (ServiceProcess.Place, [ServiceProcess]) async throws -> Void
    ) async throws {
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key),
            ]
            try await body(place, nodes)
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    static func submit(_ url: String, more: String = "", to node: ServiceProcess) async throws -> String {
        let answer = try await node.request(.post, "/v1/jobs", body: #"{"request": {"url": "\#(url)"}\#(more)}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    /// Pauses a limiter on one node, and goes on when the other has been seen to know of it.
    private static func passOn(
        _ path: String, _ nodes: [ServiceProcess], _ origin: WireOrigin, more: String = ""
    ) async throws {
        #expect(try await nodes[0].request(.post, "\(path)/pause").status == 200)
        try await until {
            _ = try await submit(origin.url("/probe"), more: more, to: nodes[1])
            return try await member(nodes[0].request(.get, path).json, "waiting", as: Int.self) ?? 0 > 0
        }
    }

    static func waitUntilDone(_ jobs: [String], at node: ServiceProcess) async throws {
        for job in jobs { _ = try await node.job(job) { member($0, "state") == "succeeded" } }
    }

    // Proves: SES-8.
    @Test func `no more jobs of a host run at once than its limit, on all nodes, and it can be changed meanwhile`()
        async throws
    {
        let (seen, gate) = (Seen(), Gate())
        let origin = try Self.origin(seen, gate)
        try await Self.with(origin) { _, nodes in
            let path = "/v1/hosts/127.0.0.1:\(origin.port)"
            #expect(try await nodes[0].request(.put, path, body: #"{"parallelism": 2}"#).status == 201)
            try await Self.passOn(path, nodes, origin)
            #expect(try await nodes[0].request(.post, "\(path)/resume").status == 200)
            var jobs: [String] = []
            for number in 0..<20 {
                jobs.append(try await Self.submit(origin.url("/\(number)"), to: nodes[number % 2]))
            }
            try await until { seen.now == 2 }
            try await until {
                let limiter = try await nodes[1].request(.get, path).json
                return member(limiter, "running") == 2 && member(limiter, "waiting") == 18
            }
            #expect(try await nodes[1].request(.put, path, body: #"{"parallelism": 4}"#).status == 200)
            try await until { seen.now == 4 }
            gate.open()
            try await Self.waitUntilDone(jobs, at: nodes[0])
            #expect(seen.most == 4 && seen.paths.count == 20)
        }
    }

    // R37
    @Test func `the jobs of a flow in order reach the origin in their order, whichever node took them`() async throws {
        let seen = Seen()
        let origin = try Self.origin(seen)
        try await Self.with(origin) { _, nodes in
            let settings = #"{"order": "fifo", "onFailure": "block"}"#
            #expect(try await nodes[0].request(.put, "/v1/flows/orders", body: settings).status == 201)
            try await Self.passOn("/v1/flows/orders", nodes, origin, more: #", "flow": {"key": "orders"}"#)
            var jobs: [String] = []
            for number in 0..<20 {
                jobs.append(
                    try await Self.submit(
                        origin.url("/\(number)"), more: #", "flow": {"key": "orders"}"#, to: nodes[number % 2]))
            }
            #expect(try await nodes[1].request(.post, "/v1/flows/orders/resume").status == 200)
            try await Self.waitUntilDone(jobs, at: nodes[0])
            #expect(seen.paths == (0..<20).map { "/\($0)" })
            #expect(seen.most == 1)
        }
    }

    // R11: also after the nodes were started again.
    @Test func `a host that is paused on one node is paused on the other, and stays so until it is resumed`()
        async throws
    {
        let seen = Seen()
        let origin = try Self.origin(seen)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let path = "/v1/hosts/127.0.0.1:\(origin.port)"
            let (one, other) = (
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key)
            )
            #expect(try await one.request(.post, "\(path)/pause").status == 200)
            var jobs: [String] = []
            try await until {
                jobs.append(try await Self.submit(origin.url("/"), to: other))
                return try await member(one.request(.get, path).json, "waiting", as: Int.self) ?? 0 > 0
            }
            for node in [one, other] { try await node.stop() }
            let reached = seen.paths.count
            let again = try await ServiceProcess.start(place, key: key)
            #expect(try await member(again.request(.get, path).json, "paused") == true)
            jobs.append(try await Self.submit(origin.url("/"), to: again))
            let drained = try await again.request(.post, "\(path)/drain")
            #expect(drained.status == 200 && member(drained.json, "running") == 0)
            #expect(seen.paths.count == reached)
            #expect(try await again.request(.post, "\(path)/resume").status == 200)
            try await Self.waitUntilDone(jobs, at: again)
            try await again.stop()
        }
    }

    // R17, R38
    @Test func `an operator pauses a tenant or all of them, and says how much of the service each may have`()
        async throws
    {
        let seen = Seen()
        let origin = try Self.origin(seen)
        try await Self.with(origin) { place, nodes in
            #expect(try await place.run("queue", "pause") == "all tenants: paused")
            var jobs: [String] = []
            try await until {
                jobs.append(try await Self.submit(origin.url("/"), to: nodes[0]))
                return member(try await nodes[0].request(.get, "/v1/jobs/\(jobs[jobs.count - 1])").json, "state")
                    == "queued"
            }
            #expect(try await member(nodes[1].request(.get, "/v1/queue").json, "servicePaused") == true)
            #expect(try await place.run("queue", "resume") == "all tenants: resumed")
            try await Self.waitUntilDone(jobs, at: nodes[1])
            #expect(try await place.run("tenants", "set", "default", "--weight", "5") == "default  weight 5")
            let quota = try await place.run("tenants", "set", "default", "--maximum-waiting-jobs", "9000")
            #expect(quota == "default  weight 5  maximumWaitingJobs 9000")
            let none = try await place.run("tenants", "set", "default", "--maximum-waiting-jobs", "default")
            #expect(none == "default  weight 5")
            #expect(try await ProgramEnd.of(["tenants", "set", "default"], place.environment).status == 64)
            #expect(try await place.run("queue", "pause", "--tenant", "default") == "default: paused")
            #expect(try await place.run("tenants", "list").contains("default  weight 5  paused"))
            #expect(try await ProgramEnd.of(["queue", "pause", "--tenant", "nobody"], place.environment).status == 1)
        }
    }
}
