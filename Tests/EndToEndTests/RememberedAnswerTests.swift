import Foundation
import HTTPTypes
import TestSupport
import Testing

extension ServiceProcess {
    /// Submits a job of a session that asks about a kind, and returns its id.
    fileprivate func submit(
        _ url: String, asking kind: String, via: String = #""via": "api""#, _ more: String = "", in session: String
    ) async throws -> String {
        let delegate = #""delegate": {\#(via), "questions": ["\#(kind)"], "timeout": 60}\#(more)"#
        let body = #"{"request": {"url": "\#(url)"}, "session": "\#(session)", "configuration": {\#(delegate)}}"#
        let answer = try await request(.post, "/v1/jobs", body: body)
        try #require(answer.status == 202, "\(answer.text)")
        return try #require(member(answer.json, "id"))
    }

    /// Answers the question of a job as soon as it is there, and returns the id of the question.
    fileprivate func answer(_ job: String, _ body: String) async throws -> String {
        let question = try await question(of: job)
        let id = try #require(member(question, "id", as: String.self))
        let answered = try await answer(question, body)
        try #require(answered.status == 200, "\(answered.text)")
        return id
    }

    /// The deciders of a job's only attempt, and the questions whose answers they used.
    fileprivate func deciders(of job: String) async throws -> [String] {
        let answer = try await request(.get, "/v1/jobs/\(job)/explain")
        let decisions = member(answer.json, "attempts", "0", "decisions", as: [[String: Any]].self) ?? []
        return decisions.map { decision in
            let who = member(decision, "by", "who", as: String.self) ?? "?"
            return (member(decision, "by", "question", as: String.self)).map { "\(who) \($0)" } ?? who
        }
    }

    fileprivate func session() async throws -> String {
        let made = try await request(.post, "/v1/sessions", body: "{}")
        return try #require(member(made.json, "id"), "\(made.text)")
    }
}

/// A session gives an answer again, until it is forgotten.
@Suite struct RememberedAnswerTests {
    @Test func `the second job of a session is not asked what the first one was, until the answer is forgotten`()
        async throws
    {
        let origin = try await LoopbackServer.nginx(
            in: try TemporaryDirectory(),
            #"absolute_redirect off; location = /go { return 302 /a?$arg_n; } location = /a { return 200 "here"; }"#)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let kind = "willPerformHTTPRedirection"
            let session = try await service.session()
            let first = try await service.submit(origin.url("/go?n=1"), asking: kind, in: session)
            let question = try await service.answer(
                first, #"{"answer": "returnResponse", "remember": {"seconds": 600}}"#)
            #expect(member(try await service.end(of: first), "response", "status") == 302)
            #expect(try await service.deciders(of: first) == ["key"])

            let second = try await service.submit(origin.url("/go?n=2"), asking: kind, in: session)
            #expect(member(try await service.end(of: second), "response", "status") == 302)
            #expect(try await service.deciders(of: second) == ["remembered \(question)"])
            let asked = try await service.request(.get, "/v1/jobs/\(second)/questions")
            #expect(member(asked.json, "data", as: [Any].self)?.isEmpty == true, "\(asked.text)")
            let metrics = try await service.request(.get, "/metrics").text
            #expect(metrics.contains(#"fetchd_questions_total{kind="\#(kind)",by="remembered"} 1"#))

            let rule = #", "rules": [{"on": "\#(kind)", "answer": "follow"}]"#
            let ruled = try await service.submit(origin.url("/go?n=2"), asking: kind, rule, in: session)
            #expect(member(try await service.end(of: ruled), "response", "status") == 200)
            #expect(try await service.deciders(of: ruled) == ["rule"])

            let path = "/v1/sessions/\(session)/answers"
            let list = try await service.request(.get, path)
            #expect(member(list.json, "data", "0", "when", "from", "exactPath") == "/go", "\(list.text)")
            #expect(try await service.request(.delete, "\(path)/\(question)").status == 204)
            let third = try await service.submit(origin.url("/go?n=3"), asking: kind, in: session)
            _ = try await service.answer(third, #""follow""#)
            #expect(member(try await service.end(of: third), "response", "status") == 200)
            #expect(try await service.deciders(of: third) == ["key"])
        }
    }

    @Test func `a receiver's reply is remembered, and it is asked once`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
            }
        }
        let reply = #"{"answer": "allow", "remember": {"seconds": 60, "when": {"status": "2xx"}}}"#
        let receiver = try WebhookReceiver(answers: [
            "HTTP/1.1 200 OK\r\nContent-Length: \(reply.utf8.count)\r\n\r\n\(reply)",
            "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        ])
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let session = try await service.session()
            let endpoint = try await receiver.endpoint(of: service).id
            let via = #""via": "webhook", "endpoint": "\#(endpoint)""#
            var deciders: [[String]] = []
            for path in ["/a", "/b"] {
                let job = try await service.submit(
                    origin.url(path), asking: "didReceiveResponse", via: via, in: session)
                #expect(member(try await service.end(of: job), "state") == "succeeded")
                deciders.append(try await service.deciders(of: job))
            }
            let list = try await service.request(.get, "/v1/sessions/\(session)/answers")
            let question = try #require(member(list.json, "data", "0", "question", as: String.self), "\(list.text)")
            #expect(deciders == [["delegate"], ["remembered \(question)"]])
        }
    }

    // Proves: SEC-6.
    @Test func `a chain that was accepted is not asked about again, and another one of the same server is`()
        async throws
    {
        var origin: TLSOrigin? = try TLSOrigin()
        let port = try #require(origin?.port)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(port)"]) { service in
            let session = try await service.session()
            func submit() async throws -> String {
                try await service.submit(
                    "https://127.0.0.1:\(port)/", asking: "didReceiveServerTrust", in: session)
            }
            let first = try await submit()
            let question = try await service.answer(first, #"{"answer": "accept", "remember": {"seconds": 600}}"#)
            #expect(member(try await service.end(of: first), "state") == "succeeded")
            let second = try await submit()
            #expect(member(try await service.end(of: second), "state") == "succeeded")
            #expect(try await service.deciders(of: second) == ["remembered \(question)"])

            origin = nil
            origin = try TLSOrigin(port: port)
            let third = try await submit()
            _ = try await service.answer(third, #""reject""#)
            #expect(member(try await service.end(of: third), "state") == "failed")
            #expect(try await service.deciders(of: third) == ["key"])
        }
        withExtendedLifetime(origin) {}
    }
}
