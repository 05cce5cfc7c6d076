import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Jobs of ephemeral sessions ask their delegates, and nothing of that is written.
@Suite(.timeLimit(.minutes(2))) struct EphemeralQuestionTests {
    private func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /go ")
                        ? "HTTP/1.1 302 Found\r\nLocation: /hushed\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
    }

    private func session(_ service: ServiceProcess, _ configuration: String = "{}") async throws -> String {
        let answer = try await service.request(
            .post, "/v1/sessions", body: #"{"kind": "ephemeral", "configuration": \#(configuration)}"#)
        return try #require(member(answer.json, "id"), "\(answer.text)")
    }

    private func delegate(_ via: String = #""via": "api""#, timeout: Int = 60) -> String {
        #"{"delegate": {\#(via), "questions": ["willPerformHTTPRedirection"], "timeout": \#(timeout)}}"#
    }

    /// How many rows there are that a question could have written.
    private func rows(_ place: ServiceProcess.Place) async throws -> Int64? {
        try await place.database.client.query(
            "SELECT (SELECT count(*) FROM questions) + (SELECT count(*) FROM jobs) + (SELECT count(*) FROM queue)"
        ).first?.decode(Int64.self, at: 0)
    }

    // Proves: SES-3, DLG-1.
    @Test(arguments: [false, true])
    func `a job asks by the API, of itself or for its session, and nothing is stored`(isOfSession: Bool) async throws {
        let origin = try origin()
        let settings = ["WORKER_HOLD_SECONDS": "0"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let session = try await session(service, isOfSession ? delegate() : "{}")
            let own = isOfSession ? "" : #", "configuration": \#(delegate())"#
            let answer = try await service.request(
                .post, "/v1/jobs",
                body: #"{"session": "\#(session)", "request": "\#(origin.url("/go"))"\#(own)}"#)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let question = try await service.question(of: id)
            let waiting = try await service.request(.get, "/v1/jobs/\(id)").json
            #expect(member(waiting, "state") == "awaitingDecision", "\(waiting)")
            #expect(member(waiting, "waitingFor") == member(question, "id", as: String.self))
            let all = try await service.request(.get, "/v1/questions?state=open")
            #expect(member(all.json, "data", "0", "job") == id, "\(all.text)")
            let remembered = try await service.answer(
                question, #"{"answer": "follow", "remember": {"seconds": 60}}"#)
            #expect(member(remembered.json, "errors", "0", "pointer") == "/remember", "\(remembered.text)")
            let blob = #"{"answer": "follow", "request": {"body": {"blob": "blb_01jd3v8m5qf0t8n4r6w2y9bcde"}}}"#
            let refused = try await service.answer(question, blob)
            #expect(member(refused.json, "code") == "answerNotAllowed", "\(refused.text)")
            #expect(try await service.answer(question, #""follow""#).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "state") == "succeeded" && origin.count(of: "GET /hushed") == 1, "\(job)")
            let story = try await service.request(.get, "/v1/jobs/\(id)/explain").json
            #expect(member(story, "attempts", "0", "decisions", "0", "by", "who") == "key", "\(story)")
            #expect(try await service.answer(question, #""cancel""#).status == 409)
            #expect(try await rows(place) == 0)
            #expect(!service.logged.contains("hushed"))
            try await service.stop()
        }
    }

    // Proves: SES-3, DLG-1.
    @Test func `a job asks an endpoint, whose reply is the answer`() async throws {
        let origin = try origin()
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\"cancel\"")
            }
        }
        let rules = ["127.0.0.1:\(origin.port)", "127.0.0.1:\(receiver.port)"]
        try await ServiceProcess.Place.with(allowing: rules) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(receiver.url("/"))"}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let session = try await session(service, delegate(#""via": "webhook", "endpoint": "\#(endpoint)""#))
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"session": "\#(session)", "request": "\#(origin.url("/go"))"}"#)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            #expect(member(try await service.end(of: id), "state") == "cancelled")
            #expect(receiver.count(of: "job.question") == 1)
            #expect(try await rows(place) == 0)
            try await service.stop()
        }
    }

    @Test func `a question ends with its deadline, and with its job`() async throws {
        let origin = try origin()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let session = try await session(service)
            for timeout in [1, 60] {
                let own = #", "configuration": \#(delegate(timeout: timeout))"#
                let answer = try await service.request(
                    .post, "/v1/jobs",
                    body: #"{"session": "\#(session)", "request": "\#(origin.url("/go"))"\#(own)}"#)
                let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
                let question = try await service.question(of: id)
                if timeout == 60 {
                    #expect(try await service.request(.post, "/v1/jobs/\(id)/cancel").status < 300)
                }
                let job = try await service.end(of: id)
                #expect(member(job, "state") == (timeout == 1 ? "succeeded" : "cancelled"), "\(job)")
                let late = try await service.answer(question, #""cancel""#)
                #expect(late.status == 410, "\(late.text)")
            }
            #expect(try await rows(place) == 0)
            try await service.stop()
        }
    }

    @Test func `another node says which one has the question`() async throws {
        let origin = try origin()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let owner = try await ServiceProcess.start(place, key: key)
            let other = try await ServiceProcess.start(place, key: key)
            let session = try await session(owner, delegate())
            let answer = try await owner.request(
                .post, "/v1/jobs", body: #"{"session": "\#(session)", "request": "\#(origin.url("/go"))"}"#)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let question = try await owner.question(of: id)
            #expect(try await other.answer(question, #""follow""#).status == 421)
            #expect(try await other.request(.get, "/v1/jobs/\(id)/questions").status == 421)
            // A node that stops does not wait for an answer.
            #expect(try await owner.stop() == 0)
            #expect(try await other.stop() == 0)
        }
    }
}
