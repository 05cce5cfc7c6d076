import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// A protocol of a test: its server, and the secret that it was given.
private struct Registered {
    let name: String
    let play: Stage.Play
    let secret: WebhookSecret

    /// The messages that it was sent.
    var messages: [[String: Any]] {
        play.requests.map { (try? JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any]) ?? [:] }
    }

    /// Whether a message is signed for it.
    func hasSigned(_ request: Stage.Play.Request) throws -> Bool {
        let id = try #require(request.values("webhook-id").first)
        let time = try #require(request.values("webhook-timestamp").first.flatMap { Int64($0) })
        return WebhookSignature(id: id, timestamp: time).verify(
            try #require(request.values("webhook-signature").first), of: request.body, with: secret,
            now: Timestamp.now.seconds)
    }
}

extension Rig {
    /// Registers a protocol by an operator's key.
    ///
    /// - Parameter more: Further members, such as its order.
    fileprivate func register(
        _ name: String, scheme: String? = nil, _ more: String = "", playedBy play: Stage.Play
    ) async throws -> Registered {
        let body = #"{"scheme": "\#(scheme ?? name)", "url": "\#(play.url("load"))"\#(more)}"#
        let answer = try await asOperator(.put, "/v1/admin/protocols/\(name)", body)
        let text = try #require(member(answer.json, "secret", as: String.self), "\(answer.text)")
        return Registered(name: name, play: play, secret: try #require(WebhookSecret(text)))
    }

    fileprivate func asOperator(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil
    ) async throws -> ServiceProcess.Answer {
        let key = try await place.run("keys", "create", "--role", "admin")
        return try await service.request(method, path, body: body, key: key)
    }

    fileprivate func remove(_ name: String) async throws {
        let answer = try await asOperator(.delete, "/v1/admin/protocols/\(name)")
        try #require(answer.status == 204, "\(answer.text)")
    }
}

/// A reply that begins with an envelope.
private func envelope(_ json: String, body: String = "") -> String {
    answer("200 OK", "Content-Type: application/vnd.fetchd.envelope", body: json + "\n" + body)
}

/// Registered protocols, played by servers of HTTP.
@Suite(.sharedService()) struct ProtocolTests {
    // MARK: Messages and replies

    // Proves: URL-2, PRT-6.
    @Test func `the properties of a request reach its protocol, and those of the response the job`() async throws {
        let rig = try SharedService.current
        let reply = #"{"response": {"headers": [{"name": "Content-Type", "value": "a/b"}], "properties": {"left": 2}}}"#
        let one = try await rig.register("props", playedBy: rig.stage.play(envelope(reply, body: "hello")))
        let job = try await rig.fetch(
            "props://shelf/7?a=b#c",
            #""method": "PUT", "headers": [{"name": "Authorization", "value": "hush"}], "body": {"text": "x"},"#
                + #" "properties": {"shelf": [7, null]}"#)
        #expect(try await rig.text(of: job) == "hello", "\(job)")
        #expect(member(job, "response", "url") == "props://shelf/7?a=b#c")
        #expect(member(job, "response", "mimeType") == "a/b" && member(job, "response", "httpVersion") == "props")
        #expect(member(job, "response", "properties", "left") == 2)
        let message = try #require(one.messages.first)
        #expect(member(message, "type") == "protocol.load" && member(message, "data", "protocol") == "props")
        #expect(member(message, "data", "job") == member(job, "id", as: String.self))
        let request = try #require(member(message, "data", "request", as: [String: Any].self))
        #expect(member(request, "url") == "props://shelf/7?a=b" && member(request, "method") == "PUT")
        #expect(member(request, "headers", "0", "value") == "hush" && member(request, "body", "base64") == "eA==")
        #expect(NSDictionary(dictionary: member(request, "properties") ?? [:]) == ["shelf": [7, NSNull()]])
        #expect(!rig.service.logged.contains("hush"))
    }

    // A message is signed as webhooks are, also by the secret before for a while.
    // Proves: PRT-1.
    @Test func `an operator registers a protocol, and jobs load by it until it is removed`() async throws {
        let rig = try SharedService.current
        let one = try await rig.register("added", playedBy: rig.stage.play(answer("203 Mine", body: "hi")))
        let list = try await rig.service.request(.get, "/v1/protocols")
        #expect(list.text.contains(#"{"scheme":"added","name":"added","builtIn":false}"#), "\(list.text)")
        let job = try await rig.fetch("added:a")
        #expect(status(of: job) == 203)
        #expect(try await rig.text(of: job) == "hi")
        let rotated = try await rig.asOperator(.post, "/v1/admin/protocols/added/rotate", #"{"overlap": 600}"#)
        #expect(rotated.status == 200, "\(rotated.text)")
        _ = try await rig.fetch("added:b")
        #expect(one.play.requests.count == 2)
        for request in one.play.requests { #expect(try one.hasSigned(request)) }
        #expect(Set(one.play.requests.flatMap { $0.values("webhook-id") }).count == 2)
        let waiting = try await rig.submit(#"{"request": "added:c", "suspended": true}"#)
        try await rig.remove("added")
        _ = try await rig.service.request(.post, "/v1/jobs/\(waiting)/resume")
        let failed = try await rig.service.job(waiting) { $0["finishedAt"] != nil }
        #expect(errorName(of: failed) == "unsupportedURL" && one.play.requests.count == 2)
        let refused = try await rig.service.request(.post, "/v1/jobs", body: #"{"request": "added:a"}"#)
        #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/request/url")
    }

    // MARK: Choice of the protocol

    // Proves: PRT-2.
    @Test func `the protocol registered last is asked first, and before http is loaded by the service`() async throws {
        let rig = try SharedService.current
        let (old, new) = (rig.stage.play(answer(body: "old")), rig.stage.play(answer(body: "new")))
        _ = try await rig.register("old", scheme: "asked", playedBy: old)
        _ = try await rig.register("new", scheme: "asked", playedBy: new)
        #expect(try await rig.text(of: try await rig.fetch("asked:a")) == "new")
        let list = try await rig.service.request(.get, "/v1/protocols").text
        let order = [#""name":"new""#, #""name":"old""#, #""scheme":"http","builtIn":true"#].map { list.range(of: $0) }
        let places = try order.map { try #require($0?.lowerBound) }
        #expect(places == places.sorted())
        let origin = rig.other.play(answer(body: "the origin"))
        let mine = #", "host": "127.0.0.1:\#(rig.other.port)", "tenants": ["default"]"#
        _ = try await rig.register(
            "web", scheme: "http", mine, playedBy: rig.stage.play(answer(body: "not the origin")))
        #expect(try await rig.text(of: try await rig.fetch(origin.url("a"))) == "not the origin")
        // Of other tenants it takes nothing.
        let other = try await rig.place.run("keys", "create", "--tenant", "other")
        let theirs = try await rig.service.fetch(origin.url("a"), key: other)
        let href = try #require(member(theirs, "body", "href", as: String.self))
        #expect(try await rig.service.request(.get, href, key: other).text == "the origin")
        try await rig.remove("web")
        #expect(try await rig.text(of: try await rig.fetch(origin.url("a"))) == "the origin")
    }

    // Proves: PRT-3.
    @Test func `two sessions load one scheme by protocols of their own`() async throws {
        let rig = try SharedService.current
        for name in ["left", "right"] {
            _ = try await rig.register(name, scheme: "sides", playedBy: rig.stage.play(answer(body: name)))
        }
        for name in ["left", "right"] {
            let session = try await rig.makeSession(#"{"protocols": ["\#(name)"]}"#)
            #expect(try await rig.text(of: try await rig.fetch("sides:a", session: session)) == name)
        }
        let none = try await rig.makeSession(#"{"protocols": []}"#)
        let refused = try await rig.service.request(
            .post, "/v1/jobs", body: #"{"request": "sides:a", "session": "\#(none)"}"#)
        #expect(refused.status == 422, "\(refused.text)")
    }

    // MARK: Replies

    // A challenge, a redirect, the response with its data, and the end.
    // Proves: PRT-7.
    @Test func `what a protocol reports is told as it is of http`() async throws {
        let rig = try SharedService.current
        _ = try await rig.register(
            "told",
            playedBy: rig.stage.play(
                envelope(#"{"challenge": {"realm": "r"}}"#), envelope(#"{"redirect": {"url": "told:b"}}"#),
                answer("200 OK", "X-Own: 1", body: "data")))
        let list = try await rig.followed(#""request": "told:a""#)
        let names = ["job.started", "job.challenged", "job.redirected", "job.response", "job.finished"]
        try #require(list.map(\.name) == names)
        #expect(member(list[1].data, "protectionSpace", "realm") == "r")
        #expect(member(list[2].data, "location") == "told:b" && member(list[2].data, "status") == 302)
        #expect(list[3].text.contains("X-Own"))
        #expect(member(list[4].data, "state") == "succeeded" && member(list[4].data, "body", "bytes") == 4)
    }

    @Test func `a protocol says why it fails, and does not ask who is there without end`() async throws {
        let rig = try SharedService.current
        let missing = #"{"error": {"name": "fileDoesNotExist", "message": "There is no such shelf."}}"#
        _ = try await rig.register("fails", playedBy: rig.stage.play(envelope(missing)))
        let failed = try await rig.fetch("fails:a")
        #expect(errorName(of: failed) == "fileDoesNotExist")
        #expect(member(failed, "error", "message") == "There is no such shelf.")
        let asking = try await rig.register("asks", playedBy: rig.stage.play(envelope(#"{"challenge": {}}"#)))
        let endless = try await rig.fetch("asks:b")
        #expect(errorName(of: endless) == "badServerResponse" && asking.messages.count == 9)
    }

    @Test func `a redirect of a protocol keeps what a redirect of http keeps`() async throws {
        let rig = try SharedService.current
        let one = try await rig.register(
            "moves",
            playedBy: rig.stage.play(
                answer("303 See Other", "Location: b"), answer("307 Again", "Location: moves://other/c"),
                answer(body: "there")))
        let job = try await rig.fetch(
            "moves://here/a",
            #""method": "POST", "body": {"text": "x"}, "headers": [{"name": "X-Api-Key", "value": "k"}]"#)
        #expect(try await rig.text(of: job) == "there", "\(job)")
        let requests = one.messages.map { member($0, "data", "request", as: [String: Any].self) ?? [:] }
        #expect(requests.compactMap { member($0, "method", as: String.self) } == ["POST", "GET", "GET"])
        #expect(
            requests.compactMap { member($0, "url", as: String.self) }
                == ["moves://here/a", "moves://here/b", "moves://other/c"])
        #expect(requests.map { $0["body"] != nil } == [true, false, false])
        let keys = requests.map { "\($0["headers"] ?? "")".contains("X-Api-Key") }
        #expect(keys == [true, true, false], "what is meant for one origin went to another")
        // No protocol can lead to a file, or to an address that the guard forbids.
        for target in ["file:///etc/passwd", "data:,x", "http://10.0.0.1/"] {
            let name = "to-\(target.prefix(4))"
            _ = try await rig.register(
                name, playedBy: rig.stage.play(envelope(#"{"redirect": {"url": "\#(target)"}}"#)))
            #expect(errorName(of: try await rig.fetch("\(name):a")) == "redirectTargetForbidden", "\(target)")
        }
        // A server of http leads to no other scheme.
        let server = rig.other.play(answer("302 Found", "Location: moves://here/a"))
        #expect(errorName(of: try await rig.fetch(server.url())) == "redirectTargetForbidden")
    }

    // A password in the URL is the job's own credential; a rule says the other words.
    // Proves: PRT-8.
    @Test(arguments: [
        "useCredential", "continueWithoutCredential", "rejectProtectionSpace", "performDefaultHandling", "cancel",
    ])
    func `a challenge of a protocol is answered as one of http`(_ word: String) async throws {
        let rig = try SharedService.current
        let scheme = "who-\(word.lowercased())"
        let one = try await rig.register(
            scheme,
            playedBy: rig.stage.play(
                envelope(#"{"challenge": {"authenticationMethod": "httpBasic", "realm": "r"}}"#), answer(body: "in")))
        let isCredential = word == "useCredential"
        let rule = #"{"name": "r", "on": "didReceiveChallenge", "answer": "\#(word)"}"#
        let job = try await rig.fetch(
            "\(scheme)://\(isCredential ? "ada:hush@" : "")shelf/a",
            configuration: isCredential ? "" : #""rules": [\#(rule)]"#)
        guard word != "cancel" else {
            #expect(errorName(of: job) == "userCancelledAuthentication" && one.messages.count == 1, "\(job)")
            return
        }
        #expect(try await rig.text(of: job) == "in", "\(job)")
        let told = try #require(member(one.messages[1], "data", "challengeAnswer", as: [String: Any].self))
        #expect(member(told, "answer") == word)
        #expect(member(told, "user") == (isCredential ? "ada" : nil))
        #expect(member(told, "password") == (isCredential ? "hush" : nil))
        #expect(!"\(one.messages[0])".contains("hush") && !"\(job)".contains("hush"))
        #expect(!rig.service.logged.contains("hush"))
    }

    // MARK: Storage

    // Proves: PRT-9.
    @Test(arguments: [
        ("allowed", true), ("notAllowed", false),
    ])
    func `what a protocol allows to be kept is kept`(_ policy: String, _ isKept: Bool) async throws {
        let rig = try SharedService.current
        let scheme = "kept-\(policy.lowercased())"
        let one = try await rig.register(
            scheme,
            playedBy: rig.stage.play(envelope(#"{"response": {}, "storagePolicy": "\#(policy)"}"#, body: "answer")))
        let session = try await rig.makeSession()
        for _ in 0..<2 {
            let job = try await rig.fetch(
                "\(scheme)://shelf/a", #""cachePolicy": "returnCacheDataElseLoad""#, session: session)
            #expect(try await rig.text(of: job) == "answer", "\(job)")
        }
        #expect(one.messages.count == (isKept ? 1 : 2))
    }

    @Test(arguments: ["HTTP/1.1 304 Not Modified\r\n\r\n", envelope(#"{"cachedResponseIsValid": true}"#)])
    func `a protocol confirms what is cached`(_ confirmation: String) async throws {
        let rig = try SharedService.current
        let scheme = confirmation.contains("304") ? "confirms-304" : "confirms"
        let one = try await rig.register(
            scheme,
            playedBy: rig.stage.play(
                answer("200 OK", "Cache-Control: max-age=60", #"ETag: "a""#, body: "kept"), confirmation))
        let session = try await rig.makeSession()
        for _ in 0..<2 {
            let job = try await rig.fetch("\(scheme)://shelf/a", session: session)
            #expect(try await rig.text(of: job) == "kept", "\(job)")
        }
        #expect(one.messages.count == 2 && member(one.messages[0], "data", "cachedResponse") == String?.none)
        #expect(member(one.messages[1], "data", "cachedResponse", "status") == 200)
        #expect("\(one.messages[1])".contains("ETag"))
    }

    // MARK: Kinds of jobs

    // Proves: PRT-10.
    @Test func `data, download and upload jobs load by a protocol, and those of background sessions do not`()
        async throws
    {
        let rig = try SharedService.current
        let one = try await rig.register(
            "kinds", playedBy: rig.stage.play(answer("200 OK", "Content-Type: text/plain", body: "content")))
        #expect(try await rig.text(of: try await rig.fetch("kinds://shelf/a.txt")) == "content")
        let ephemeral = try await rig.makeSession(#"{"kind": "ephemeral"}"#)
        let short = try await rig.fetch("kinds://shelf/a.txt", session: ephemeral)
        #expect(try await rig.text(of: short) == "content")
        let file = try await rig.fetch("kinds://shelf/b.txt", more: #""kind": "download""#)
        let blob = try #require(member(file, "file", "blob", as: String.self), "\(file)")
        #expect(member(file, "file", "filename") == "b.txt")
        #expect(try await rig.service.request(.get, "/v1/blobs/\(blob)").text == "content")
        let upload = try await rig.fetch(
            "kinds://shelf/c.txt", #""method": "PUT", "body": {"text": "sent"}"#, more: #""kind": "upload""#)
        #expect(member(upload, "state") == "succeeded", "\(upload)")
        #expect(member(one.messages[3], "data", "request", "body", "base64") == "c2VudA==")
        let background = try await rig.makeSession(
            #"{"kind": "background", "identifier": "kinds", "webhook": {"url": "\#(rig.other.play(answer()).url())"}}"#)
        let refused = try await rig.service.request(
            .post, "/v1/jobs",
            body: #"{"kind": "download", "request": "kinds://shelf/d.txt", "session": "\#(background)"}"#)
        #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/request/url")
    }

    // MARK: Faulty protocols

    /// A reply, and the error that it is for the job.
    struct Fault: CustomTestStringConvertible {
        let name: String
        let error: String
        var words = ""
        var configuration = ""
        let reply: @Sendable (WireConnection) throws -> Void

        var testDescription: String { name }
    }

    private static let kibibyte = String(repeating: "x", count: 1024)

    /// Sends a text again and again, ten times a second, until the peer has had enough.
    private static func drip(_ text: String, _ connection: WireConnection) throws {
        for _ in 0..<1000 {
            try connection.send(text)
            usleep(100_000)
        }
    }

    private static let faults: [Fault] = [
        Fault(name: "header fields without end", error: "dataLengthExceedsMaximum") { connection in
            try connection.send("HTTP/1.1 200 OK\r\n")
            while true { try connection.send("X-More: \(kibibyte)\r\n") }
        },
        Fault(
            name: "a body without end", error: "dataLengthExceedsMaximum",
            configuration: #""response": {"maximumBytes": 1000000}"#
        ) { connection in
            try connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while true { try connection.send(kibibyte) }
        },
        Fault(name: "a length that is a lie", error: "networkConnectionLost") { connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
            connection.reset()
            throw Over()
        },
        Fault(
            name: "a drip before the head", error: "timedOut",
            configuration: #""timeouts": {"timeoutIntervalForRequest": 1}"#
        ) { connection in
            try connection.send("HTTP/1.1 200 OK\r\nX-Slow: ")
            try drip("x", connection)
        },
        Fault(
            name: "a drip within the envelope", error: "timedOut",
            configuration: #""timeouts": {"timeoutIntervalForRequest": 1}"#
        ) { connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.fetchd.envelope\r\n\r\n")
            try drip(" ", connection)
        },
        Fault(
            name: "a drip of the body", error: "timedOut",
            configuration: #""timeouts": {"timeoutIntervalForResource": 1}"#
        ) { connection in
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try drip("x", connection)
        },
        Fault(name: "an envelope that is not JSON", error: "badServerResponse", words: "not JSON") { connection in
            try connection.send(envelope("{hush"))
        },
        Fault(name: "an envelope without a word", error: "badServerResponse", words: "must have one of") {
            try $0.send(envelope("{}"))
        },
        Fault(name: "an envelope without end", error: "badServerResponse", words: "more than 65536 bytes") {
            connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.fetchd.envelope\r\n\r\n")
            while true { try connection.send(kibibyte) }
        },
        Fault(name: "no reply", error: "networkConnectionLost") { _ in throw Over() },
    ]

    private struct Over: Error {}

    @Test(arguments: faults) func `a reply that is none is an error of its job`(_ fault: Fault) async throws {
        let rig = try SharedService.current
        let name = fault.name.replacing(" ", with: "-").lowercased()
        let one = try await rig.register(
            name, playedBy: rig.stage.serve { _, connection in try fault.reply(connection) })
        let job = try await rig.fetch("\(name):a", configuration: fault.configuration)
        #expect(errorName(of: job) == fault.error, "\(job)")
        let message = member(job, "error", "message", as: String.self) ?? ""
        #expect((fault.words.isEmpty || message.contains(fault.words)) && !message.contains("hush"), "\(message)")
        // Where the protocol is, its tenant is not told.
        #expect(!"\(job)".contains("127.0.0.1") && !"\(job)".contains(one.play.url()), "\(job)")
    }

    @Test func `the message itself is sent nowhere else`() async throws {
        let rig = try SharedService.current
        let elsewhere = rig.other.play(answer(body: "stolen"))
        let one = try await rig.register(
            "leads", playedBy: rig.stage.play(answer("307 Temporary Redirect", "Location: \(elsewhere.url("x"))")))
        let job = try await rig.fetch("leads:a", #""method": "POST", "body": {"text": "own"}"#)
        #expect(try await rig.text(of: job) == "stolen", "\(job)")
        // The server there got the request of the job, as a redirect has it, and no message.
        let request = try #require(elsewhere.requests.first)
        #expect(request.values("webhook-signature").isEmpty && request.body == Array("own".utf8))
        #expect(one.messages.count == 1)
    }

    @Test func `an address that must not be reached is found out with each load`() async throws {
        let rig = try SharedService.current
        let one = try await rig.register("moved", playedBy: rig.stage.play(answer(body: "x")))
        #expect(member(try await rig.fetch("moved:a"), "state") == "succeeded")
        let client = rig.place.database.client
        try await client.query("UPDATE protocols SET url = 'https://10.0.0.1/load' WHERE name = 'moved'")
        try await client.query("UPDATE queue_state SET version = version + 1")
        try await client.query("SELECT pg_notify('fetchd', '')")
        var job: [String: Any] = [:]
        try await until {
            job = try await rig.fetch("moved:b")
            return member(job, "state") == "failed"
        }
        #expect(errorName(of: job) == "addressForbidden" && !"\(job)".contains("10.0.0.1"), "\(job)")
        let refused = try await rig.asOperator(
            .put, "/v1/admin/protocols/moved", #"{"scheme": "moved", "url": "https://10.0.0.1/load"}"#)
        #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/url")
        #expect(one.messages.count >= 1)
    }

    // A request that may have been sent is not sent again by itself.
    @Test func `a job that must not be repeated is not repeated by a protocol that breaks off`() async throws {
        let rig = try SharedService.current
        let one = try await rig.register("breaks", playedBy: rig.stage.cut())
        let job = try await rig.fetch(
            "breaks:a", #""method": "POST", "body": {"text": "x"}"#,
            configuration: #""retry": {"maximumAttempts": 3, "backoff": {"initial": 0.01}}"#)
        #expect(errorName(of: job) == "networkConnectionLost" && one.messages.count == 1, "\(job)")
    }

    @Test func `cancelling a job ends its message`() async throws {
        let rig = try SharedService.current
        let (asked, left) = (Gate(), Gate())
        _ = try await rig.register(
            "stops",
            playedBy: rig.stage.serve { _, connection in
                asked.open()
                try connection.receiveToEnd()
                left.open()
            })
        let id = try await rig.submit(#"{"request": "stops:a"}"#)
        try await onThread { try asked.wait() }
        _ = try await rig.service.request(.post, "/v1/jobs/\(id)/cancel")
        let job = try await rig.service.job(id) { $0["finishedAt"] != nil }
        #expect(member(job, "state") == "cancelled")
        try await onThread { try left.wait() }
    }

    @Test func `every node learns of a protocol, and that it is gone`() async throws {
        let rig = try SharedService.current
        let second = try await ServiceProcess.start(rig.place, key: try await rig.place.run("keys", "create"))
        let one = try await rig.register("spread", playedBy: rig.stage.play(answer(body: "x")))
        @Sendable func isListed() async throws -> Bool {
            try await second.request(.get, "/v1/protocols").text.contains("spread")
        }
        try await until { try await isListed() }
        #expect(member(try await second.fetch("spread:a"), "state") == "succeeded")
        try await rig.remove(one.name)
        try await until { try await !isListed() }
        #expect(try await second.stop() == 0)
    }
}
