import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct QuestionRoutesTests {
    private func path(_ question: AskedQuestion) -> String { "/v1/jobs/\(question.job)/questions/\(question.id)" }

    @Test func `a question is listed with its facts until it is answered`() async throws {
        let server = try await TestServer()
        let question = try await server.ask()
        try await server.test { call async throws in
            let list = try await call(.get, "/v1/questions?state=open")
            #expect(list.json?["data"]?[0]?["id"]?.string == question.id.description)
            #expect(list.json?["data"]?[0]?["facts"]?["hop"]?.integer == 1)
            #expect(list.json?["data"]?[0]?["answers"]?[0]?.string == "follow")
            let answered = try await call(.post, path(question), body: #"{"answer": "follow", "note": "mine"}"#)
            #expect(answered.status == .ok && answered.json?["by"]?["key"]?.string == server.key.id.description)
            #expect(try await call(.get, "/v1/questions?state=open").json?["data"]?.count == 0)
            #expect(try await call(.get, "/v1/questions/\(question.id)").json?["note"]?.string == "mine")
            #expect(try await call(.get, "/v1/jobs/\(question.job)/questions").json?["data"]?.count == 1)
        }
    }

    @Test func `the same answer is accepted again, another one is refused, and a late one too`() async throws {
        let server = try await TestServer()
        let (question, late) = (try await server.ask(), try await server.ask(timeout: .zero))
        try await server.test { call async throws in
            for _ in 0..<2 { #expect(try await call(.post, path(question), body: #""cancel""#).status == .ok) }
            let other = try await call(.post, path(question), body: #""follow""#)
            #expect(other.status == .conflict && other.problem == .alreadyAnswered)
            #expect(other.json?["detail"]?.string?.contains("key_") == true)
            let gone = try await call(.post, path(late), body: #""follow""#)
            #expect(gone.status == .gone && gone.problem == .questionClosed)
        }
    }

    @Test func `what breaks a limit is told by pointers, and the question stays open`() async throws {
        let server = try await TestServer()
        var limits = AnswerLimits(words: Question.Kind.willPerformHTTPRedirection.words)
        limits.following = .init(scheme: "https", allowHTTPSToHTTP: false)
        let question = try await server.ask(limits: limits)
        try await server.test { call async throws in
            for url in ["http://a.example/", "https://127.0.0.1/"] {
                let body = #"{"answer": "follow", "request": {"url": "\#(url)"}}"#
                let answer = try await call(.post, path(question), body: body)
                #expect(answer.status == .unprocessableContent && answer.problem == .answerNotAllowed)
                #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/request/url")
            }
            let unknown = try await call(.post, path(question), body: #""allow""#)
            #expect(unknown.problem == .invalidInput)
            let blob = #"{"answer": "follow", "request": {"body": {"blob": "\#(Blob.ID())"}}}"#
            #expect(try await call(.post, path(question), body: blob).problem == .answerNotAllowed)
            #expect(try await call(.get, "/v1/questions/\(question.id)").json?["state"]?.string == "open")
        }
    }

    @Test func `a filter that is no host is refused by its rule, and one that fits nothing lists nothing`() async throws
    {
        let server = try await TestServer()
        _ = try await server.ask()
        try await server.test { call async throws in
            let host = String(repeating: "a", count: 261)
            let refused = try await call(.get, "/v1/questions?host=\(host)")
            #expect(refused.status == .badRequest && refused.text.contains("at most 260 characters"))
            let none = try await call(.get, "/v1/questions?host=\(host.dropFirst())")
            #expect(none.status == .ok && none.json?["data"]?.count == 0)
        }
    }

    // Proves: SEC-41.
    @Test func `a question of another job or tenant is not there`() async throws {
        let server = try await TestServer()
        let (question, other) = (try await server.ask(), try await server.ask())
        let (_, stranger) = try await server.keys.create(name: "x", tenant: "stranger")
        try await server.test { call async throws in
            let crossed = "/v1/jobs/\(other.job)/questions/\(question.id)"
            #expect(try await call(.post, crossed, body: #""cancel""#).problem == .notFound)
            let headers: HTTPFields = [.authorization: "Bearer \(stranger.revealed)"]
            #expect(try await call(.get, "/v1/questions/\(question.id)", headers: headers).problem == .notFound)
            #expect(try await call(.post, path(question), headers: headers, body: #""cancel""#).problem == .notFound)
            #expect(try await call(.get, "/v1/questions", headers: headers).json?["data"]?.count == 0)
        }
    }

    @Test func `a list that is waited for comes with the first question`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            async let waiting = call(.get, "/v1/questions?state=open", headers: [.prefer: "wait=30"])
            let question = try await server.ask()
            let list = try await waiting
            #expect(list.json?["data"]?[0]?["id"]?.string == question.id.description)
            #expect(list.headers[.preferenceApplied] == "wait=30")
        }
    }
}
