import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// Events reach their receiver, signed, at least once.
@Suite struct WebhookTests {
    // R54: to the endpoint that the job names.
    // Proves: CON-6, SEC-36.
    @Test func `a finished job is announced with a signature that verifies`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            let job = try await service.fetch(origin.url("/a"), more: receiver.announcing(endpoint))
            let message = try await receiver.next()
            #expect(try message.isSigned(with: secret))
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "job.finished")
            #expect(member(json, "data", "job", "id") == member(job, "id", as: String.self))
            #expect(member(json, "data", "job", "state") == "succeeded")
        }
    }

    @Test func `a body comes along in the message when the job asks for it and it is short enough`() async throws {
        let files = ["text": Data("grüß\n".utf8), "bytes": Data([0, 255, 7]), "long": Data(repeating: 65, count: 101)]
        let origin = try await LoopbackServer.nginx(files: files)
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, _) = try await receiver.endpoint(of: service)
            func told(_ file: String, _ more: String = "") async throws -> [String: Any]? {
                let webhook = #", "webhook": {"endpoint": "\#(endpoint)"\#(more)}"#
                _ = try await service.fetch(origin.url("/\(file)"), more: webhook)
                let json = try JSONSerialization.jsonObject(with: Data(try await receiver.next().body))
                return member(json as? [String: Any] ?? [:], "data", "body", as: [String: Any].self)
            }
            let limit = #", "includeBodyUpTo": 100"#
            #expect(try await told("text", limit)?["text"] as? String == "grüß\n")
            #expect(try await told("bytes", limit)?["base64"] as? String == "AP8H")
            #expect(try await told("long", limit) == nil)
            #expect(try await told("text") == nil)
        }
    }

    @Test func `an endpoint that is polled has its events read in a stream, from where a client was, with a valid key`()
        async throws
    {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"polled": true, "events": ["job.started", "job.finished"]}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let path = "/v1/webhooks/endpoints/\(endpoint)/events"
            func fetch() async throws {
                _ = try await service.fetch(origin.url("/a"), more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
            }
            /// The ids and names of events until there are so many.
            func read(_ count: Int, after last: String? = nil) async throws -> [[String]] {
                var fields: HTTPFields = [.accept: "text/event-stream"]
                fields[HTTPField.Name("Last-Event-ID")!] = last
                let (body, response) = try await service.stream(path, headers: fields)
                #expect(response.headerFields[.contentType] == "text/event-stream")
                var text = ""
                for try await chunk in body {
                    text += String(decoding: chunk, as: UTF8.self)
                    if text.matches(of: /\n\n/).count >= count { break }
                }
                return text.split(separator: "\n\n").filter { $0.hasPrefix("id: ") }.map { event in
                    event.split(separator: "\n").prefix(2).map { String($0.split(separator: ": ")[1]) }
                }
            }
            try await fetch()
            let first = try await read(2)
            #expect(first.map { $0[1] } == ["job.started", "job.finished"])
            try await fetch()
            let second = try await read(2, after: first[1][0])
            #expect(second.map { $0[1] } == ["job.started", "job.finished"])
            let list = try await service.request(.get, path)
            let data = member(list.json, "data", as: [[String: Any]].self) ?? []
            #expect(data.compactMap { member($0, "id", as: String.self) } == (first + second).map { $0[0] })
            #expect(member(data.last ?? [:], "data", "job", "state") == "succeeded", "\(list.text)")
            // A key that is revoked reads no further.
            let key = try await service.request(
                .post, "/v1/keys", body: #"{"name": "reader", "scopes": ["webhooks"]}"#)
            let text = try #require(member(key.json, "token", as: String.self), "\(key.text)")
            let id = try #require(member(key.json, "id", as: String.self))
            let (body, _) = try await service.speaking(with: text).stream(path, headers: [.accept: "text/event-stream"])
            var isRevoked = false
            for try await _ in body where !isRevoked {
                isRevoked = true
                #expect(try await service.request(.delete, "/v1/keys/\(id)").status == 204)
            }
            #expect(isRevoked)
        }
    }

    @Test func `what names no endpoint tells the default one, however it came, and its client reads all of it`()
        async throws
    {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            func endpoint(_ more: String) async throws -> String {
                let made = try await service.request(
                    .post, "/v1/webhooks/endpoints",
                    body: #"{"polled": true, "events": ["job.started", "job.finished", "group.finished"]\#(more)}"#)
                return try #require(member(made.json, "id", as: String.self), "\(made.text)")
            }
            #expect(try await service.request(.get, "/v1/events").status == 404)
            let former = try await endpoint(#", "default": true"#)
            let (other, endpoint) = (try await endpoint(""), try await endpoint(#", "default": true"#))
            let list = try await service.request(.get, "/v1/webhooks/endpoints")
            let defaults = (member(list.json, "data", as: [[String: Any]].self) ?? [])
                .filter { member($0, "default") == true }
            #expect(defaults.map { member($0, "id") } == [endpoint], "former \(former): \(list.text)")
            func fetch(_ more: String) async throws -> String? {
                member(try await service.fetch(origin.url("/a"), more: more), "id", as: String.self)
            }
            func made(_ path: String, _ body: String) async throws -> String {
                let answer = try await service.request(.post, path, body: body)
                return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            }
            let session = try await made("/v1/sessions", #"{"webhook": {"endpoint": "\#(other)"}}"#)
            _ = try await fetch(#", "webhook": {"endpoint": "\#(other)"}"#)
            _ = try await fetch(#", "session": "\#(session)""#)
            let group = try await made("/v1/groups", "{}")
            var jobs = [
                try await fetch(""), try await fetch(#", "unique": {"key": "k", "window": 60}"#),
                try await fetch(#", "group": "\#(group)""#),
            ]
            let publish = "/v2/publish/\(origin.url("/a"))?upstash-method=GET"
            let published = try await service.request(.post, publish, body: "")
            jobs.append(member(published.json, "messageId", as: String.self))
            let rows = try await place.database.client.query(
                "SELECT fetchd.enqueue(json_build_object('request', \(origin.url("/a"))::text))")
            jobs.append(try rows.first?.decode(String.self, at: 0))
            #expect(try await service.request(.post, "/v1/groups/\(group)/close").status == 200)
            var told: [[String]] = []
            let (body, response) = try await service.stream("/v1/events", headers: [.accept: "text/event-stream"])
            #expect(response.status == .ok)
            var text = ""
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                if text.ranges(of: "\ndata: ").count > 2 * jobs.count { break }
            }
            for event in text.split(separator: "\n\n") where event.hasPrefix("id: ") {
                let data = try #require(event.firstMatch(of: /data: (.*)/)?.1)
                let json = try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any] ?? [:]
                let subject = member(json, "data", "job", "id", as: String.self) ?? member(json, "data", "group", "id")
                told.append([member(json, "type") ?? "", subject ?? ""])
            }
            var expected = [["group.finished", group]]
            for job in jobs { expected += [["job.started", job ?? ""], ["job.finished", job ?? ""]] }
            #expect(Set(told) == Set(expected) && told.count == expected.count, "\(text)")
            let path = "/v1/webhooks/endpoints/\(endpoint)"
            #expect(try await service.request(.patch, path, body: #"{"default": false}"#).status == 200)
            #expect(try await service.request(.get, "/v1/events").status == 404)
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `a test reaches an endpoint whatever it lists, and its delivery has the answer`() async throws {
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: [receiver.rule]) { service in
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            let path = "/v1/webhooks/endpoints/\(endpoint)"
            let sent = try await service.request(.post, "\(path)/test")
            #expect(sent.status == 202 && member(sent.json, "state") == "pending", "\(sent.text)")
            let message = try await receiver.next()
            #expect(try message.isSigned(with: secret))
            #expect(message["webhook-id"] == member(sent.json, "id"))
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "endpoint.test" && member(json, "data", "endpoint", "id") == endpoint)
            let place = try #require(sent.headers[.location])
            try await until { member(try await service.request(.get, place).json, "state") == "delivered" }
            #expect(member(try await service.request(.get, place).json, "attempts", "0", "response", "status") == 204)
            #expect(try await service.request(.patch, path, body: #"{"enabled": false}"#).status == 200)
            #expect(try await service.request(.post, "\(path)/test").status == 409)
        }
    }

    @Test func `a dead receiver holds up nobody else (R51)`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        let dead = try WireOrigin { connection in
            while try connection.receiveHead() != nil { _ = try connection.receive(.max) }
        }
        let receiver = try WebhookReceiver()
        let rules = [origin.rule, receiver.rule, "127.0.0.1:\(dead.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let answer = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(dead.url("/hook"))"}"#)
            let id = try #require(member(answer.json, "id", as: String.self))
            let line = #"{"request": {"url": "\#(origin.url("/a"))"}, "webhook": {"endpoint": "\#(id)"}}"# + "\n"
            let batch = try await service.request(
                .post, "/v1/jobs/batch", body: String(repeating: line, count: 200),
                headers: [.contentType: "application/x-ndjson"])
            #expect(batch.status == 200, "\(batch.text)")
            try await until { dead.connections.count >= 8 }
            let (endpoint, _) = try await receiver.endpoint(of: service)
            _ = try await service.fetch(origin.url("/a"), more: receiver.announcing(endpoint))
            _ = try await receiver.next()
            // Nothing had to end first, and the dead one was given its slots and no more.
            #expect(dead.connections.count == 8)
            #expect(dead.connections.count { $0.isOver } == 0)
        }
    }

    // R58: five that answer late, and many more that never do.
    @Test(arguments: [5, 40])
    func `receivers that hold their messages hold up no other endpoint, their own tenant's or another's`(
        count: Int
    ) async throws {
        let isOver = Gate()
        defer { isOver.open() }
        let holding = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try isOver.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let (own, other) = (try WebhookReceiver(), try WebhookReceiver())
        let rules = [own.rule, other.rule, "127.0.0.1:\(holding.port)"]
        try await ServiceProcess.Place.with(allowing: rules) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let tenant = service.speaking(with: try await place.key(tenant: "other"))
            var lines = ""
            for number in 0..<count {
                let answer = try await service.request(
                    .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(holding.url("/\(number)"))"}"#)
                let id = try #require(member(answer.json, "id", as: String.self))
                lines += String(
                    repeating: #"{"request": "data:,x", "webhook": {"endpoint": "\#(id)"}}"# + "\n", count: 10)
            }
            let batch = try await service.request(
                .post, "/v1/jobs/batch", body: lines, headers: [.contentType: "application/x-ndjson"])
            #expect(batch.status == 200, "\(batch.text)")
            try await until { holding.connections.count >= min(count * 8, 100) }
            for (service, receiver) in [(service, own), (tenant, other)] {
                let (endpoint, _) = try await receiver.endpoint(of: service)
                var delays: [Duration] = []
                for _ in 0..<5 {
                    _ = try await service.fetch("data:,x", more: receiver.announcing(endpoint))
                    let end = ContinuousClock.now
                    _ = try await receiver.next()
                    delays.append(ContinuousClock.now - end)
                }
                // The machine may have been busy with something else once.
                #expect(delays.sorted()[2] <= .seconds(1), "\(delays)")
            }
            // None of those that were held had to end first.
            #expect(holding.connections.count { $0.isOver } == 0)
            isOver.open()
            #expect(try await service.stop() == 0)
        }
    }

    // Proves: LIF-13, DLG-9, SEC-36.
    @Test func `every attempt is kept, and what failed is sent again under its id`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        let receiver = try WebhookReceiver(answers: [
            "HTTP/1.1 410 Gone\r\nSet-Cookie: a=secret\r\nContent-Length: 5000\r\n\r\n"
                + String(repeating: "é", count: 2500),
            "HTTP/1.1 204 No Content\r\n\r\n",
        ])
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            _ = try await service.fetch(origin.url("/a"), more: receiver.announcing(endpoint))
            let first = try await receiver.next()
            let list = "/v1/webhooks/deliveries?endpoint=\(endpoint)&state="
            try await until { try await service.request(.get, list + "abandoned").json["data"].count == 1 }
            let id = try #require(first["webhook-id"])
            let failed = try await service.request(.get, "/v1/webhooks/deliveries/\(id)")
            #expect(member(failed.json, "attempts", "0", "response", "status") == 410)
            #expect(member(failed.json, "attempts", "0", "response", "body", "isCut") == true)
            #expect(
                member(failed.json, "attempts", "0", "response", "body", "text")
                    == String(repeating: "é", count: 2048))
            #expect(!failed.text.contains("secret"))
            // The receiver was gone, so nothing is sent before it is said to be back.
            let replay = "/v1/webhooks/deliveries/\(id)/replay"
            #expect(try await service.request(.post, replay).status == 409)
            let enabled = try await service.request(
                .patch, "/v1/webhooks/endpoints/\(endpoint)", body: #"{"enabled": true}"#)
            #expect(member(enabled.json, "enabled") == true, "\(enabled.text)")
            #expect(try await service.request(.post, replay).status == 202)
            let second = try await receiver.next()
            #expect(second["webhook-id"] == id && second.body == first.body)
            #expect(try second.isSigned(with: secret))
            try await until { try await service.request(.get, list + "delivered").json["data"].count == 1 }
            let delivered = try await service.request(.get, "/v1/webhooks/deliveries/\(id)")
            #expect(delivered.json["attempts"].count == 2)
        }
    }

    // Proves: SEC-36.
    @Test func `a new secret and the one before it both sign, for as long as asked`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, first) = try await receiver.endpoint(of: service)
            let rotate = "/v1/webhooks/endpoints/\(endpoint)/rotate"
            let rotated = try await service.request(.post, rotate, body: #"{"overlap": 60}"#)
            let second = try #require(member(rotated.json, "secret", as: String.self).flatMap { WebhookSecret($0) })
            _ = try await service.fetch(origin.url("/a"), more: receiver.announcing(endpoint))
            let both = try await receiver.next()
            #expect(try both.isSigned(with: first) && both.isSigned(with: second))
            let last = try await service.request(.post, rotate, body: #"{"overlap": 0}"#)
            let third = try #require(member(last.json, "secret", as: String.self).flatMap { WebhookSecret($0) })
            _ = try await service.fetch(origin.url("/a"), more: receiver.announcing(endpoint))
            let one = try await receiver.next()
            #expect(try one.isSigned(with: third) && !one.isSigned(with: first) && !one.isSigned(with: second))
        }
    }

    // Proves: SEC-35.
    @Test func `a receiver that redirects or never ends is given up, and messages have connections of their own`()
        async throws
    {
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                switch head.split(separator: " ")[1] {
                case "/moved":
                    try connection.send("HTTP/1.1 307 Go\r\nLocation: /landed\r\nContent-Length: 0\r\n\r\n")
                case "/endless":
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n")
                    try connection.send(String(repeating: "x", count: 80_000))
                case "/slow":
                    // A line now and then is no answer either.
                    try connection.send("HTTP/1.1 200 OK\r\n")
                    for _ in 0..<60 {
                        try connection.send("X-More: to come\r\n")
                        Thread.sleep(forTimeInterval: 1)
                    }
                    return
                default: try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(receiver.port)"]) { service in
            func delivery(to path: String) async throws -> String {
                let body = #"{"url": "\#(receiver.url(path))"}"#
                let made = try await service.request(.post, "/v1/webhooks/endpoints", body: body)
                let endpoint = try #require(member(made.json, "id", as: String.self), "\(made.text)")
                let sent = try await service.request(.post, "/v1/webhooks/endpoints/\(endpoint)/test")
                return try #require(member(sent.json, "id", as: String.self), "\(sent.text)")
            }
            func attempt(_ delivery: String) async throws -> [String: Any] {
                var attempt: [String: Any]?
                try await until {
                    let json = try await service.request(.get, "/v1/webhooks/deliveries/\(delivery)").json
                    attempt = member(json, "attempts", "0")
                    return attempt != nil
                }
                return try #require(attempt)
            }
            _ = try await service.fetch(receiver.url("/job"))
            let deliveries = try await (delivery(to: "/moved"), delivery(to: "/endless"), delivery(to: "/slow"))
            let moved = try await attempt(deliveries.0)
            #expect(member(moved, "response", "status") == 307, "\(moved)")
            let endless = try await attempt(deliveries.1)
            #expect(member(endless, "response", "status") == 200, "\(endless)")
            #expect(member(endless, "response", "body", "isCut") == true, "\(endless)")
            let slow = try await attempt(deliveries.2)
            #expect(member(slow, "error") == "timedOut", "\(slow)")
            #expect(try #require(member(slow, "duration", as: Double.self)) >= 15)
        }
        let received = receiver.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(!received.contains { $0.contains("/landed") })
        #expect(received.contains { $0.contains("GET /job ") } && received.contains { $0.contains("POST /moved ") })
        #expect(!received.contains { $0.contains("GET ") && $0.contains("POST ") })
    }

    // Proves: SEC-35.
    @Test func `an endpoint that may not be reached is refused when it is made`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for url in [
                "https://10.0.0.1/hook", "http://receiver.example/hook", "https://u:p@receiver.example/hook",
            ] {
                let answer = try await service.request(.post, "/v1/webhooks/endpoints", body: #"{"url": "\#(url)"}"#)
                #expect(answer.status == 422)
                #expect(member(answer.json, "errors", "0", "pointer") == "/url")
            }
        }
    }
}

/// A receiver of webhooks, and its messages.
final class WebhookReceiver: Sendable {
    struct Message: Sendable {
        let head: String
        let body: [UInt8]

        subscript(field: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(field + ": ") }
                .map { String($0.dropFirst(field.count + 2)) }
        }

        func isSigned(with secret: WebhookSecret) throws -> Bool {
            let signature = WebhookSignature(
                id: try #require(self["webhook-id"]),
                timestamp: try #require(self["webhook-timestamp"].flatMap { Int64($0) })
            )
            let signatures = try #require(self["webhook-signature"])
            return signature.verify(signatures, of: body, with: secret, now: Timestamp.now.seconds)
        }
    }

    private let origin: WireOrigin
    private let messages: AsyncStream<Message>

    /// - Parameter answers: Its responses, one after the other; the last one to all that follow.
    init(answers: [String] = ["HTTP/1.1 204 No Content\r\n\r\n"]) throws {
        let (messages, message) = AsyncStream.makeStream(of: Message.self)
        let count = Mutex(0)
        origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                message.yield(Message(head: head, body: try connection.receive(length)))
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try connection.send(answers[min(number, answers.count) - 1])
            }
        }
        self.messages = messages
    }

    /// The rule by which the address guard opens it.
    var rule: String { "127.0.0.1:\(origin.port)" }

    /// The next message; for one caller.
    func next() async throws -> Message { try #require(await messages.first { _ in true }) }

    /// Registers it.
    ///
    /// - Parameter more: Further members of the endpoint.
    func endpoint(of service: ServiceProcess, _ more: String = "") async throws -> (id: String, secret: WebhookSecret) {
        let body = #"{"url": "\#(origin.url("/hook"))"\#(more)}"#
        let answer = try await service.request(.post, "/v1/webhooks/endpoints", body: body)
        #expect(answer.status == 201, "\(answer.text)")
        let id = try #require(member(answer.json, "id", as: String.self))
        let secret = try #require(member(answer.json, "secret", as: String.self))
        return (id, try #require(WebhookSecret(secret)))
    }

    /// The members of a job whose events come here.
    func announcing(_ endpoint: String) -> String { #", "webhook": {"endpoint": "\#(endpoint)"}"# }
}

extension Optional where Wrapped == Any {
    /// How many elements there are, when it is an array.
    var count: Int? { (self as? [Any])?.count }
}
