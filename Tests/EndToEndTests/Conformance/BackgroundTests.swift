import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Background sessions: their jobs go on whoever is there to see it.
@Suite(.timeLimit(.minutes(2))) struct BackgroundTests {
    private func makeSession(_ kind: String, _ hook: String, _ service: ServiceProcess) async throws -> String {
        let identifier = kind == "background" ? #", "identifier": "mine""# : ""
        let answer = try await service.request(
            .post, "/v1/sessions", body: #"{"kind": "\#(kind)"\#(identifier), "webhook": {"endpoint": "\#(hook)"}}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func submit(
        _ url: String, in session: String, _ service: ServiceProcess, more: String = ""
    ) async throws -> String {
        let body = #"{"kind": "download", "session": "\#(session)", "request": "\#(url)"\#(more)}"#
        let answer = try await service.request(.post, "/v1/jobs", body: body)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    private func json(_ message: WebhookReceiver.Message) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
    }

    // Told once, although two nodes have worked on it.
    // Proves: BKG-1, BKG-7, BKG-9, BKG-10, BKG-12, LIF-13, SES-4.
    @Test func `a transfer outlives the node that began it, and its end is told once`() async throws {
        let (content, gate) = (pattern(200_000), Gate())
        let requests = Progress()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let start = head.firstMatch(of: /Range: bytes=(\d+)-/).flatMap { Int($0.output.1) } ?? 0
                let range = start > 0 ? "Content-Range: bytes \(start)-199999/200000\r\n" : ""
                try connection.send(
                    "HTTP/1.1 \(start > 0 ? "206 P" : "200 OK")\r\nETag: \"a\"\r\n\(range)Content-Length: "
                        + "\(content.count - start)\r\n\r\n")
                let isFirst = requests.add(1) == 1
                if isFirst {
                    try connection.send(Array(content[..<80_000]))
                    try gate.wait()
                }
                try connection.send(Array(content[max(start, isFirst ? 80_000 : 0)...]))
            }
        }
        let receiver = try WebhookReceiver()
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: ["WORKER_LEASE_SECONDS": "1"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let (hook, _) = try await receiver.endpoint(of: first)
            let session = try await makeSession("background", hook, first)
            let id = try await submit(origin.url("/f.bin"), in: session, first)
            _ = try await first.job(id) { member($0, "progress", "bytesReceived") == 80_000 }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            gate.open()

            let second = try await ServiceProcess.start(place, key: key)
            let messages = [try json(await receiver.next()), try json(await receiver.next())]
            #expect(messages.map { member($0, "type", as: String.self) } == ["job.finished", "session.eventsFinished"])
            #expect(member(messages[0], "data", "job", "id") == id)
            #expect(member(messages[0], "data", "job", "state") == "succeeded")
            #expect(member(messages[1], "data", "session", "identifier") == "mine")
            // The file was there before its end was told.
            let job = try await second.request(.get, "/v1/jobs/\(id)").json
            #expect(member(job, "body", "digest") == SHA256Digest(of: content).field)
            #expect(requests.value == 2)
            let deliveries = try await second.request(.get, "/v1/webhooks/deliveries?job=\(id)").json
            #expect(member(deliveries, "data", as: [Any].self)?.count == 1)
            #expect(try await second.stop() == 0)
        }
    }

    // A client that was away gets the event when it is back, under the same id.
    // Proves: BKG-8, DLG-9, LIF-13.
    @Test func `a client that is away hears of it later`() async throws {
        let (heads, head) = AsyncStream.makeStream(of: String.self)
        let client = try WireOrigin(isOpen: false) { connection in
            while let text = try connection.receiveHead() {
                let length = text.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                try connection.receive(length)
                head.yield(text)
                try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let origin = try WireOrigin(playing: answer(body: "x"))
        let rules = ["127.0.0.1:\(origin.port)", "127.0.0.1:\(client.port)"]
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(client.url("/hook"))"}"#)
            let hook = try #require(member(made.json, "id", as: String.self))
            let session = try await makeSession("background", hook, service)
            let id = try await submit(origin.url("/f"), in: session, service)
            let path = "/v1/webhooks/deliveries?job=\(id)"
            var delivery: String?
            try await until {
                let list = try await service.request(.get, path).json
                delivery = member(list, "data", "0", "id")
                guard let delivery else { return false }
                let one = try await service.request(.get, "/v1/webhooks/deliveries/\(delivery)").json
                return member(one, "attempts", as: [Any].self)?.isEmpty == false
            }
            try client.open()
            try await place.retryDeliveries()
            let told = try #require(await heads.first { _ in true })
            #expect(told.contains("webhook-id: \(try #require(delivery))"))
            #expect(try await service.stop() == 0)
        }
    }

    // The client is not there when its job needs a credential, and is called until it is.
    // Proves: BKG-8.
    @Test(.enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")))
    func `a client that is away is woken up when a credential is needed`() async throws {
        let (bodies, body) = AsyncStream.makeStream(of: [UInt8].self)
        let login = #"{"user": "\#(Cave.user)", "password": "\#(Cave.password)"}"#
        let client = try WireOrigin(isOpen: false) { connection in
            while let text = try connection.receiveHead() {
                let length = text.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let message = try connection.receive(length)
                body.yield(message)
                let isAsked = String(decoding: message, as: UTF8.self).contains("job.question")
                try connection.send(
                    isAsked
                        ? answer(body: #"{"answer": "useCredential", "credential": \#(login)}"#)
                        : "HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        let origin = try await LoopbackServer.apache()
        try await ServiceProcess.with(allowing: [origin.rule, "127.0.0.1:\(client.port)"]) { service in
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(client.url("/hook"))"}"#)
            let hook = try #require(member(made.json, "id", as: String.self))
            let session = try await makeSession("background", hook, service)
            let delegate =
                #", "configuration": {"delegate": {"via": "webhook", "endpoint": "\#(hook)", "#
                + #""questions": ["didReceiveChallenge"], "timeout": 300}}"#
            let id = try await submit(origin.url("/basic/page"), in: session, service, more: delegate)
            let question = try await service.question(of: id)
            let path = "/v1/questions/\(try #require(member(question, "id", as: String.self)))"
            // It was called in vain.
            try await until { member(try await service.request(.get, path).json, "fault", as: String.self) != nil }
            try client.open()
            var told: [[String: Any]] = []
            for await bytes in bodies {
                told.append(try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]))
                if told.count == 3 { break }
            }
            #expect(
                told.map { member($0, "type", as: String.self) } == [
                    "job.question", "job.finished", "session.eventsFinished",
                ])
            #expect(member(told[0], "data", "session") == session && member(told[0], "data", "job") == id)
            #expect(member(told[1], "data", "job", "session") == session)
            #expect(member(told[1], "data", "job", "response", "status") == 200)
            #expect(member(told[2], "data", "session", "identifier") == "mine")
        }
    }

    // An attempt that takes too long is followed by another one.
    // Proves: BKG-14.
    @Test func `what times out is tried again`() async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                if count.add(1) == 1 { try connection.receiveToEnd() } else { try connection.send(answer(body: "x")) }
            }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let (hook, _) = try await receiver.endpoint(of: service)
            let session = try await makeSession("background", hook, service)
            let quick =
                #", "configuration": {"timeouts": {"timeoutIntervalForRequest": 0.2}, "retry": {"backoff": {"#
                + #""initial": 0.01}}}"#
            let id = try await submit(origin.url("/f"), in: session, service, more: quick)
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "attempts", "0", "error") == "timedOut")
            #expect(member(job, "attempts", as: [Any].self)?.count == 2)
        }
    }

    // More often than a job of another session, which is tried three times. Nothing answers `/never`.
    // Proves: BKG-14.
    @Test func `timeouts are repeated by default until the time of the resource is over`() async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.hasPrefix("GET /late"), count.add(1) >= 5 {
                    try connection.send(answer(body: "x"))
                } else {
                    try connection.receiveToEnd()
                }
            }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let (hook, _) = try await receiver.endpoint(of: service)
            func run(_ path: String, in session: String, for seconds: Int) async throws -> [String: Any] {
                let quick =
                    #", "configuration": {"timeouts": {"timeoutIntervalForRequest": 0.2, "#
                    + #""timeoutIntervalForResource": \#(seconds)}, "retry": {"backoff": {"initial": 0.01, "factor": 1}}}"#
                let id = try await submit(origin.url(path), in: session, service, more: quick)
                return try await service.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
            }
            let (background, other) = (
                try await makeSession("background", hook, service), try await makeSession("default", hook, service)
            )
            let late = try await run("/late", in: background, for: 60)
            #expect(member(late, "state") == "succeeded", "\(late)")
            #expect(member(late, "attempts", as: [Any].self)?.count ?? 0 >= 5)
            let never = try await run("/never", in: background, for: 2)
            #expect(errorName(of: never) == "timedOut", "\(never)")
            let thrice = try await run("/never", in: other, for: 60)
            #expect(errorName(of: thrice) == "timedOut", "\(thrice)")
            #expect(member(thrice, "attempts", as: [Any].self)?.count == 3)
        }
    }

    // `initiated` states whether a client waits for the job, which matters only in a background session.
    // Proves: SES-5, BKG-6.
    @Test func `what is started in the background may wait`() async throws {
        let (gate, origin) = (Gate(), try Stage())
        let busy = origin.serve { _, connection in
            try gate.wait()
            try connection.send(answer())
        }
        let play = origin.play(answer(body: "x"))
        let receiver = try WebhookReceiver()
        // While one of four places is taken, nothing is pulled forward that may wait.
        let settings = ["WORKER_CONCURRENCY": "4", "WORKER_LEASE_SECONDS": "1"]
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            let (hook, _) = try await receiver.endpoint(of: service)
            let (background, other) = (
                try await makeSession("background", hook, service), try await makeSession("default", hook, service)
            )
            let id = try await submit(busy.url(), in: other, service)
            try await until { busy.requests.count == 1 }
            let started = #", "initiated": "background""#
            let waiting = try await submit(play.url("w"), in: background, service, more: started)
            for (session, more) in [
                (background, ""), (background, #", "initiated": "interactive""#), (other, started),
            ] {
                let one = try await submit(play.url("i"), in: session, service, more: more)
                let job = try await service.job(one) { member($0, "state") == "succeeded" }
                #expect(member(job, "discretionary", as: Bool.self) == nil)
            }
            let job = try await service.request(.get, "/v1/jobs/\(waiting)").json
            #expect(member(job, "state") == "scheduled" && member(job, "discretionary") == true, "\(job)")
            #expect(member(job, "initiated") == "background")
            #expect(!play.requests.contains { $0.line.contains("/w ") })
            gate.open()
            _ = try await service.job(id) { member($0, "state") == "succeeded" }
            _ = try await service.job(waiting) { member($0, "state") == "succeeded" }
        }
    }

    // The same is told of them, and redirects are followed.
    // Proves: BKG-15, BKG-5, RED-16.
    @Test func `jobs of background sessions are told of like all others`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isFirst = head.hasPrefix("GET /first")
                try connection.send(isFirst ? answer("302 Found", "Location: /f.bin") : answer(body: "x"))
            }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let (hook, _) = try await receiver.endpoint(of: service)
            var seen: [[String]] = []
            for kind in ["default", "background"] {
                let session = try await makeSession(kind, hook, service)
                _ = try await submit(origin.url("/first"), in: session, service)
                let message = try json(await receiver.next())
                let job = try #require(member(message, "data", "job", as: [String: Any].self))
                seen.append([member(message, "type") ?? ""] + job.keys.sorted())
                #expect(member(job, "redirects", as: [Any].self)?.count == 1)
                if kind == "background" {
                    #expect(member(try json(await receiver.next()), "type") == "session.eventsFinished")
                }
            }
            #expect(seen[0] == seen[1] && seen[0].contains("file"), "\(seen)")
        }
    }
}
