import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Loads that wait long are parked: they hold nothing, outlive their node, and go on where they stood.
@Suite struct ParkingTests {
    private static let atOnce = ["WORKER_HOLD_SECONDS": "0"]

    /// Redirects requests for `/go`, and asks for a password at `/secret`.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
                _ = try connection.receive(length)
                let answer =
                    switch head.split(separator: " ")[1] {
                    case "/go": "307 Temporary Redirect\r\nLocation: /a\r\nContent-Length: 4\r\n\r\ngone"
                    case "/secret" where !head.contains("uthorization: Basic bWU6cHc="):
                        "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno"
                    default: "200 OK\r\nContent-Length: 4\r\n\r\nhere"
                    }
                try connection.send("HTTP/1.1 \(answer)")
            }
        }
    }

    private func rule(_ origin: WireOrigin) -> String { "127.0.0.1:\(origin.port)" }

    /// Waits until the job of a question has no node.
    private func parked(_ service: ServiceProcess, _ count: Int = 1) async throws {
        try await until {
            try await service.request(.get, "/metrics").text.contains("fetchd_loads_parked_total \(count)")
        }
    }

    // Proves: DLG-6, REL-6.
    @Test(arguments: [("follow", 200, 2), ("returnResponse", 307, 1), ("cancel", 0, 1)])
    func `a redirect of a POST is answered after its node was killed, and nothing is sent twice`(
        _ word: String, _ status: Int, _ requests: Int
    ) async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)], settings: Self.atOnce) { place in
            let key = try await place.run("keys", "create")
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#,
                request: #", "method": "POST", "body": {"text": "body"}"#)
            let question = try await first.question(of: id)
            try await parked(first)
            #expect(member(try await first.request(.get, "/v1/jobs/\(id)").json, "state") == "awaitingDecision")
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            let second = try await ServiceProcess.start(place, key: key)
            let answered = try await second.answer(question, #"{"answer": "\#(word)"}"#)
            #expect(answered.status == 200, "\(answered.text)")
            let job = try await second.end(of: id)
            if status == 0 {
                #expect(member(job, "state") == "cancelled")
            } else {
                #expect(member(job, "state") == "succeeded" && member(job, "response", "status") == status, "\(job)")
                let body = try await second.request(.get, "/v1/jobs/\(id)/body").text
                #expect(body == (status == 200 ? "here" : "gone"))
            }
            #expect(origin.count(of: "POST /go") == 1 && origin.count(of: "POST ") == requests)
            #expect(origin.count(of: "\r\n\r\nbody") == requests)
            let explained = try await second.request(.get, "/v1/jobs/\(id)/explain")
            #expect(explained.text.contains(#""answer":"\#(word)""#), "\(explained.text)")
            try await second.stop()
        }
    }

    @Test func `a node that stops parks what waits, and nothing of a POST is sent twice`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)]) { place in
            let key = try await place.run("keys", "create")
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#,
                request: #", "method": "POST", "body": {"text": "body"}"#)
            let question = try await first.question(of: id)
            #expect(try await first.stop() == 0)
            let second = try await ServiceProcess.start(place, key: key)
            #expect(try await second.answer(question, #""follow""#).status == 200)
            let job = try await second.end(of: id)
            #expect(member(job, "response", "status") == 200 && origin.count(of: "POST ") == 2, "\(job)")
            try await second.stop()
        }
    }

    /// Two nodes over one database, the first of which has a job that waits for an answer and is held.
    private func held(
        _ origin: WireOrigin, _ path: String, request: String,
        _ body: (_ first: ServiceProcess, _ second: ServiceProcess, _ job: String, [String: Any]) async throws -> Void
    ) async throws {
        let settings = ["WORKER_LEASE_SECONDS": "2", "WORKER_HOLD_SECONDS": "3600"]
        try await ServiceProcess.Place.with(allowing: [rule(origin)], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit(
                origin.url(path), asking: #"["willPerformHTTPRedirection"]"#, timeout: 600, request: request)
            let question = try await first.question(of: id)
            let second = try await ServiceProcess.start(place.apart, key: key)
            try await body(first, second, id, question)
            #expect(try await second.stop() == 0)
        }
    }

    // Proves: DLG-6.
    @Test(arguments: [true, false])
    func `a held POST outlives its node, and an answer is used that was given before or after`(
        _ isAnsweredBefore: Bool
    ) async throws {
        let origin = try Self.origin()
        try await held(origin, "/go", request: #", "method": "POST", "body": {"text": "body"}"#) {
            first, second, id, question in
            // A node that is stopped uses no answer.
            if isAnsweredBefore {
                first.send(SIGSTOP)
                #expect(try await second.answer(question, #""follow""#).status == 200)
            }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            if !isAnsweredBefore {
                #expect(try await second.answer(question, #""follow""#).status == 200)
            }
            let job = try await second.end(of: id)
            #expect(member(job, "response", "status") == 200, "\(job)")
            #expect(origin.count(of: "POST /go") == 1 && origin.count(of: "POST /a") == 1)
            #expect(origin.count(of: "\r\n\r\nbody") == 2)
        }
    }

    // Proves: DLG-3.
    @Test(arguments: [true, false])
    func `the endpoint of a load is asked again when that is parked, or its node is lost`(
        _ isParked: Bool
    ) async throws {
        let origin = try Self.origin()
        // The first node does not ask again before it is lost.
        let failure = "HTTP/1.1 503 Busy\r\n\(isParked ? "" : "Retry-After: 60\r\n")Content-Length: 0\r\n\r\n"
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\"follow\""
        let receiver = try WebhookReceiver(answers: [failure, answer])
        let settings = ["WORKER_LEASE_SECONDS": "2", "WORKER_HOLD_SECONDS": isParked ? "0" : "3600"]
        let rules = [rule(origin), receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place.apart, key: key)
            let (endpoint, _) = try await receiver.endpoint(of: first)
            let id = try await first.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#,
                via: #""via": "webhook", "endpoint": "\#(endpoint)""#, timeout: 600,
                request: #", "method": "POST", "body": {"text": "body"}"#)
            let asked = try await receiver.next()
            if isParked { try await parked(first) }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            #expect(try await receiver.next()["webhook-id"] == asked["webhook-id"])
            let job = try await second.end(of: id)
            #expect(member(job, "response", "status") == 200, "\(job)")
            #expect(origin.count(of: "POST /go") == 1 && origin.count(of: "POST /a") == 1)
            #expect(try await second.stop() == 0)
        }
    }

    /// Redirects `/go`, and answers nothing else.
    private static func silentOrigin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                guard head.contains(" /go ") else { continue }
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    @Test func `a load whose node is lost behind an answer goes on from there again`() async throws {
        let origin = try Self.silentOrigin()
        try await held(origin, "/go", request: "") { first, second, id, question in
            #expect(try await first.answer(question, #""follow""#).status == 200)
            try await until { origin.count(of: "GET /a") == 1 }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            try await until { origin.count(of: "GET /a") == 2 }
            #expect(origin.count(of: "GET /go") == 1)
            let questions = try await second.request(.get, "/v1/jobs/\(id)/questions").json
            #expect(member(questions, "data", as: [[String: Any]].self)?.count == 1)
            _ = try await second.request(.post, "/v1/jobs/\(id)/cancel")
            #expect(member(try await second.end(of: id), "state") == "cancelled")
        }
    }

    // Proves: REL-6.
    @Test func `what an answer makes of a request is not sent twice where it must not be repeated`() async throws {
        let origin = try Self.silentOrigin()
        try await held(origin, "/go", request: "") { first, second, id, question in
            let answer = #"{"answer": "follow", "request": {"method": "POST"}}"#
            #expect(try await first.answer(question, answer).status == 200)
            try await until { origin.count(of: "POST /a") == 1 }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            let job = try await second.end(of: id)
            #expect(member(job, "error", "name") == "networkConnectionLost", "\(job)")
            #expect(origin.count(of: "POST /a") == 1)
        }
    }

    @Test func `a job whose position cannot be read fails, and sends nothing`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)], settings: Self.atOnce) { place in
            let service = try await ServiceProcess.start(place, key: try await place.run("keys", "create"))
            let id = try await service.submit(origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#)
            let question = try await service.question(of: id)
            try await parked(service)
            try await place.database.client.query(#"UPDATE questions SET "position" = '\x00'"#)
            #expect(try await service.answer(question, #""follow""#).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "error", "name") == "cannotDecodeRawData", "\(job)")
            #expect(origin.count(of: "GET /") == 1)
            try await service.stop()
        }
    }

    // Proves: AUT-32, DLG-7.
    @Test func `a challenge is answered while its job is parked, with a password that is nowhere in clear`()
        async throws
    {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)], settings: Self.atOnce) { service in
            let id = try await service.submit(origin.url("/secret"), asking: #"["didReceiveChallenge"]"#)
            let question = try await service.question(of: id)
            try await parked(service)
            let answer = #"{"answer": "useCredential", "credential": {"user": "me", "password": "pw"}}"#
            #expect(try await service.answer(question, answer).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "response", "status") == 200 && origin.count(of: "GET /secret") == 2, "\(job)")
        }
    }

    @Test func `a certificate that is asked about is accepted after its job was parked`() async throws {
        let origin = try TLSOrigin()
        let rule = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.with(allowing: [rule], settings: Self.atOnce) { service in
            let id = try await service.submit("https://\(rule)/", asking: #"["didReceiveServerTrust"]"#)
            let question = try await service.question(of: id)
            try await parked(service)
            #expect(try await service.answer(question, #""accept""#).status == 200)
            #expect(member(try await service.end(of: id), "response", "status") == 200)
        }
    }

    @Test func `what nobody answers while a job is parked is decided as the job says otherwise`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)], settings: Self.atOnce) { service in
            let id = try await service.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#,
                #", "otherwise": {"willPerformHTTPRedirection": "returnResponse"}"#, timeout: 2)
            let question = try await service.question(of: id)
            try await parked(service)
            #expect(member(try await service.end(of: id), "response", "status") == 307)
            let late = try await service.answer(question, #""follow""#)
            #expect(late.status == 410 && origin.count(of: "GET /") == 1, "\(late.text)")
        }
    }

    @Test func `cancelling a parked job ends it at once and withdraws its question`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)], settings: Self.atOnce) { service in
            let id = try await service.submit(origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#)
            let question = try await service.question(of: id)
            try await parked(service)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel")
            #expect(member(try await service.end(of: id), "state") == "cancelled")
            let late = try await service.answer(question, #""follow""#)
            #expect(late.status == 410 && origin.count(of: "GET /") == 1, "\(late.text)")
        }
    }

    /// The events of a job up to its end, followed before it begins.
    private func events(
        of job: String, _ service: ServiceProcess, meanwhile: () async throws -> Void
    ) async throws -> [ToldEvent] {
        async let text: String = {
            var bytes: [UInt8] = []
            for try await chunk in try await service.stream("/v1/jobs/\(job)/events").0 { bytes += chunk }
            return String(decoding: bytes, as: UTF8.self)
        }()
        try await until {
            try await service.request(.get, "/metrics").text.contains("\nfetchd_event_streams 1\n")
        }
        _ = try await service.request(.post, "/v1/jobs/\(job)/resume")
        try await meanwhile()
        return ToldEvent.all(in: try await text)
    }

    // Held or parked, each step is told once, and where it stands.
    // Proves: DLG-10.
    @Test(arguments: [0, 3600])
    func `questions and events of a job have one numbering`(_ hold: Int) async throws {
        let origin = try Self.origin()
        let settings = ["WORKER_HOLD_SECONDS": "\(hold)"]
        try await ServiceProcess.with(allowing: [rule(origin)], settings: settings) { service in
            let id = try await service.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection", "didReceiveChallenge"]"#,
                spec: #", "suspended": true"#)
            var questions: [[String: Any]] = []
            let list = try await events(of: id, service) {
                let answer = #"{"answer": "follow", "request": {"url": "\#(origin.url("/secret"))"}}"#
                for answer in [answer, #""performDefaultHandling""#] {
                    questions.append(try await service.question(of: id))
                    #expect(try await service.answer(questions.last ?? [:], answer).status == 200)
                }
            }
            let told = list.filter { $0.name != "job.progress" && $0.name != "job.started" }
            let names = ["job.question", "job.redirected", "job.question", "job.challenged", "job.response"]
            #expect(told.map(\.name) == names + ["job.finished"])
            let positions = list.compactMap { JobEvent.Position($0.id) }
            #expect(positions == positions.sorted() && positions.count == (hold == 0 ? 8 : 6), "\(positions)")
            let asked = told.filter { $0.name == "job.question" }
            #expect(asked.map(\.id) == questions.map { member($0, "sequence") ?? "" })
            #expect(asked.map { member($0.data, "sequence") ?? "" } == asked.map(\.id))
            #expect(positions.first?.number == 1)
        }
    }

    @Test func `a job that is parked twice tells both decisions, in their order`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)], settings: Self.atOnce) { service in
            let id = try await service.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection", "didReceiveChallenge"]"#)
            let redirect = try await service.question(of: id)
            try await parked(service)
            let url = origin.url("/secret")
            let followed = try await service.answer(
                redirect, #"{"answer": "follow", "request": {"url": "\#(url)"}}"#)
            #expect(followed.status == 200, "\(followed.text)")
            let challenge = try await service.question(of: id)
            #expect(member(challenge, "kind") == "didReceiveChallenge")
            try await parked(service, 2)
            #expect(try await service.answer(challenge, #""performDefaultHandling""#).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "response", "status") == 401, "\(job)")
            let explained = try await service.request(.get, "/v1/jobs/\(id)/explain").json
            let decisions = try #require(member(explained, "attempts", "0", "decisions", as: [[String: Any]].self))
            #expect(
                decisions.map { member($0, "answer", "answer") ?? member($0, "answer") ?? "" }
                    == ["follow", "performDefaultHandling"])
            #expect(decisions.map { member($0, "sequence", as: Int.self) } == [1, 2])
        }
    }
}
