import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// How long jobs wait for each phase, and how they report it.
@Suite(.timeLimit(.minutes(2))) struct TimeoutTests {
    /// A place where a load comes to a halt.
    struct Halt: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The limit that ends it; all others are far away.
        let limit: String
        let message: String
        /// The phases that the attempt has times of, beside the look-up of the name.
        let phases: [String]
        var scheme = "http"
        let serve: @Sendable (WireConnection) throws -> Void
    }

    static let halts = [
        Halt(testDescription: "the TLS handshake", limit: "connect", message: "not made", phases: [], scheme: "https") {
            try $0.receiveToEnd()
        },
        Halt(
            testDescription: "the first byte", limit: "timeoutIntervalForRequest", message: "idle",
            phases: ["connect", "request"]
        ) { connection in
            _ = try connection.receiveHead()
            try connection.receiveToEnd()
        },
        Halt(
            testDescription: "the middle of a body", limit: "timeoutIntervalForRequest", message: "idle",
            phases: ["connect", "request", "response"]
        ) { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour")
            try connection.receiveToEnd()
        },
        Halt(
            testDescription: "never, and never done", limit: "timeoutIntervalForResource", message: "longer",
            phases: ["connect", "request", "response"]
        ) { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n")
            while true {
                try connection.send("x")
                poll(nil, 0, 20)
            }
        },
    ]

    // R30: each limit is one of its own, and the phases that were come through are told with their times.
    // Proves: URL-5, SES-9.
    @Test(arguments: halts) func `each phase has its limit, and is told of`(_ halt: Halt) async throws {
        let origin = try WireOrigin(halt.serve)
        let others = ["connect", "timeoutIntervalForRequest", "timeoutIntervalForResource"].filter { $0 != halt.limit }
        let limits = (others.map { #""\#($0)": 3000"# } + [#""\#(halt.limit)": 1"#]).joined(separator: ", ")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(
                origin.url("/f").replacing("http:", with: "\(halt.scheme):"),
                more: #", "configuration": {"timeouts": {\#(limits)}, "retry": {"maximumAttempts": 1}}"#)
            #expect(errorName(of: job) == "timedOut", "\(job)")
            #expect(member(job, "error", "message", as: String.self)?.contains(halt.message) == true, "\(job)")
            let transfer = try #require(member(job, "attempts", "0", "metrics", "0", as: [String: Any].self))
            #expect(transfer["domainLookup"] is [Double], "\(transfer)")
            let phases = ["connect", "request", "response"].filter { transfer[$0] is [Double] }
            #expect(phases == halt.phases, "\(transfer)")
            #expect(transfer["duration"] as? Double ?? 0 >= 0.9)
        }
    }

    // A time of its own for each request would let all of them pass.
    // Proves: SES-9.
    @Test func `redirects and challenges have the time of the resource together`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                usleep(300_000)
                let hop = head.firstMatch(of: /^GET \/(\d+)/).flatMap { Int($0.output.1) } ?? 0
                // Each hop is a realm of its own, which asks first.
                guard head.contains("\r\nAuthorization: ") else {
                    try connection.send(answer("401 No", "WWW-Authenticate: Basic realm=\"r\(hop)\""))
                    continue
                }
                try connection.send(hop < 5 ? answer("302 There", "Location: /\(hop + 1)/") : answer(body: "end"))
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            func fetch(_ seconds: Int) async throws -> [String: Any] {
                try await service.fetch(
                    origin.url("/0/"),
                    more: #", "configuration": {"authentication": {"credential": {"user": "u", "password": "p"}}, "#
                        + #""timeouts": {"timeoutIntervalForResource": \#(seconds)}, "retry": {"maximumAttempts": 1}}"#)
            }
            #expect(status(of: try await fetch(3000)) == 200)
            let late = try await fetch(1)
            #expect(errorName(of: late) == "timedOut", "\(late)")
        }
    }

    // The origin is never asked again, since the time has passed while nobody had the job.
    // Proves: SES-9.
    @Test func `the time of the resource goes on while a node is gone`() async throws {
        let heads = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                heads.add(1)
                try connection.receiveToEnd()
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let body =
                #"{"request": "\#(origin.url())", "configuration": {"timeouts": "#
                + #"{"timeoutIntervalForResource": 3}}}"#
            let made = try await first.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            try await until { heads.value == 1 }
            let end = ContinuousClock.now + .seconds(3)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            try await until { ContinuousClock.now > end }
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "state") == "failed" }
            #expect(errorName(of: job) == "timedOut", "\(job)")
            #expect(heads.value == 1)
            #expect(try await second.stop() == 0)
        }
    }

    // A time of its own for each attempt would let ten of them pass. In a stored session and in memory alone.
    // Proves: SES-9.
    @Test(arguments: ["default", "ephemeral"])
    func `all attempts of a job share the time of its resource`(_ kind: String) async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                usleep(300_000)
                try connection.send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let made = try await service.request(.post, "/v1/sessions", body: #"{"kind": "\#(kind)"}"#)
            let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let job = try await service.fetch(
                origin.url(),
                more: #", "session": "\#(session)", "configuration": {"timeouts": {"timeoutIntervalForResource": 1}, "#
                    + #""retry": {"maximumAttempts": 10, "statuses": [503], "backoff": {"initial": 0.2, "factor": 1}}}"#
            )
            #expect(member(job, "state") == "failed", "\(job)")
            let attempts = member(job, "attempts", as: [Any].self)?.count ?? 0
            #expect((2...4).contains(attempts), "\(job)")
        }
    }

    // R20: the server takes nothing of it, or says nothing of it, and then takes it.
    @Test(arguments: [false, true]) func `an upload ends, whatever its server does not do`(_ isTaken: Bool) async throws
    {
        let (size, gate, answered) = (6_000_000, Gate(), Gate())
        let count = Progress()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            let isLast = count.add(1) == 3
            if isTaken || isLast { try connection.receive(size) }
            if isLast { try connection.send(answer("201 Created")) } else { try gate.wait() }
            answered.open()
        }
        defer { gate.open() }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let blob = try await service.send(.post, "/v1/blobs", .bytes(pattern(size)))
            let id = try #require(member(blob.json, "id", as: String.self), "\(blob.text)")
            func put(attempts: Int, idle: Int) async throws -> [String: Any] {
                try await service.fetch(
                    origin.url("/f"), request: #", "method": "PUT", "body": {"blob": "\#(id)"}"#,
                    more: #", "kind": "upload", "configuration": {"upload": {"expectContinue": "never"}, "#
                        + #""timeouts": {"timeoutIntervalForRequest": \#(idle)}, "#
                        + #""retry": {"maximumAttempts": \#(attempts), "backoff": {"initial": 0.01}}}"#)
            }
            let failed = try await put(attempts: 2, idle: 1)
            #expect(errorName(of: failed) == "timedOut", "\(failed)")
            #expect(member(failed, "attempts", as: [Any].self)?.count == 2)
            #expect(count.value == 2)
            let done = try await put(attempts: 1, idle: 30)
            #expect(status(of: done) == 201, "\(done)")
            // Every byte of it was taken, and none twice.
            #expect(member(done, "attempts", "0", "metrics", "0", "countOfRequestBodyBytesSent") == size)
        }
    }
}
