import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The remembered answers of sessions, as their clients see them.
@Suite struct AnswerRoutesTests {
    /// A session, and a question of a job in it.
    private func ask(
        _ server: TestServer, in session: TenantSession.ID?, alike: [Question.Condition] = [.crossOrigin(true)]
    ) async throws -> String {
        let job = try NewJob.make()
        _ = try await server.jobs.enqueue([job])
        let kind = Question.Kind.willPerformHTTPRedirection
        var limits = AnswerLimits(words: kind.words)
        limits.alike = Question.Conditions(alike)
        let question = AskedQuestion(
            tenant: server.key.tenant, job: job.id, claim: 1, sequence: 1, kind: kind, host: nil, group: nil,
            session: session, labels: [], content: RawJSON(Array(#"{"request":{},"facts":{}}"#.utf8)), limits: limits,
            endpoint: nil)
        _ = try await server.questions.ask(question, of: nil, timeout: .seconds(60), at: Node.ID())
        return "/v1/jobs/\(job.id)/questions/\(question.id)"
    }

    private func session(_ call: TestCalls, _ body: String = "{}") async throws -> TenantSession.ID {
        let made = try await call(.post, "/v1/sessions", body: body)
        return try #require(made.json?["id"]?.string.flatMap { TenantSession.ID($0) })
    }

    private static let remember = #"{"answer": "follow", "remember": {"seconds": 60}}"#

    @Test func `an answer that is remembered is listed page by page, and forgotten`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let session = try await session(call)
            var questions: [String] = []
            for _ in 0..<3 {
                let path = try await ask(server, in: session)
                let answer = try await call(.post, path, body: Self.remember)
                #expect(answer.status == .ok && answer.json?["remember"]?["seconds"]?.integer == 60)
                questions.append(try #require(answer.json?["id"]?.string))
            }
            let path = "/v1/sessions/\(session)/answers"
            let page = try await call(.get, "\(path)?limit=2")
            #expect(page.json?["data"]?.count == 2 && page.json?["hasMore"]?.bool == true)
            #expect(page.json?["data"]?[0]?["question"]?.string == questions[0])
            #expect(page.json?["data"]?[0]?["when"]?["crossOrigin"]?.bool == true)
            #expect(page.json?["data"]?[0]?["by"]?["key"]?.string == server.key.id.description)
            let cursor = try #require(page.json?["nextCursor"]?.string)
            let rest = try await call(.get, "\(path)?limit=2&cursor=\(cursor)")
            #expect(rest.json?["data"]?.count == 1 && rest.json?["hasMore"]?.bool == false)
            #expect(try await call(.delete, "\(path)/\(questions[1])").status == .noContent)
            #expect(try await call(.delete, "\(path)/\(questions[1])").problem == .notFound)
            #expect(try await call(.delete, path).json?["removed"]?.integer == 2)
            #expect(try await call(.get, path).json?["data"]?.count == 0)
        }
    }

    @Test func `a session that is reset remembers nothing`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let session = try await session(call)
            _ = try await call(.post, try await ask(server, in: session), body: Self.remember)
            let reset = try await call(.post, "/v1/sessions/\(session)/reset")
            #expect(reset.json?["answers"]?.integer == 1, "\(reset.text)")
            #expect(try await call(.get, "/v1/sessions/\(session)/answers").json?["data"]?.count == 0)
        }
    }

    @Test func `an answer to many questions is not remembered, nor one to a job without a session`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let path = try await ask(server, in: nil)
            let refused = try await call(.post, path, body: Self.remember)
            #expect(refused.problem == .invalidInput)
            #expect(refused.json?["errors"]?[0]?["pointer"]?.string == "/remember", "\(refused.text)")
            let order =
                #"{"filter": {"kind": "willPerformHTTPRedirection"}, "answer": \#(Self.remember), "dryRun": true}"#
            let many = try await call(.post, "/v1/questions/actions", body: order)
            #expect(many.json?["errors"]?[0]?["pointer"]?.string == "/answer/remember", "\(many.text)")
        }
    }

    // Proves: SEC-41.
    @Test func `what a session of somebody else remembers is not there`() async throws {
        let server = try await TestServer()
        let (_, stranger) = try await server.keys.create(name: "x", tenant: "stranger")
        try await server.test { call async throws in
            let session = try await session(call)
            let path = try await ask(server, in: session)
            let id = try #require(try await call(.post, path, body: Self.remember).json?["id"]?.string)
            let headers: HTTPFields = [.authorization: "Bearer \(stranger.revealed)"]
            let list = "/v1/sessions/\(session)/answers"
            #expect(try await call(.get, list, headers: headers).problem == .notFound)
            #expect(try await call(.delete, list, headers: headers).problem == .notFound)
            #expect(try await call(.delete, "\(list)/\(id)", headers: headers).problem == .notFound)
            #expect(try await call(.get, list).json?["data"]?.count == 1)
        }
    }

    @Test func `the default session and ephemeral ones remember nothing`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let ephemeral = try await session(call, #"{"kind": "ephemeral"}"#)
            for name in ["default", ephemeral.description, TenantSession.ID().description] {
                #expect(try await call(.get, "/v1/sessions/\(name)/answers").problem == .notFound)
                #expect(try await call(.delete, "/v1/sessions/\(name)/answers").problem == .notFound)
            }
        }
    }

    @Test func `what a session remembers is told by what-if, after its rules`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let rule = #"{"on": "willPerformHTTPRedirection", "when": {"hop": {"min": 2}}, "answer": "cancel"}"#
            let session = try await session(call, #"{"configuration": {"rules": [\#(rule)]}}"#)
            let path = try await ask(server, in: session)
            let id = try #require(try await call(.post, path, body: Self.remember).json?["id"]?.string)
            func by(_ more: String, in session: String) async throws -> (String?, String?) {
                let event = #"{"on": "willPerformHTTPRedirection", "to": "https://b.example/"\#(more)}"#
                let body = #"{"request": {"url": "https://a.example/"}\#(session), "whatIf": [\#(event)]}"#
                let answer = try await call(.post, "/v1/explain", body: body)
                let by = answer.json?["whatIf"]?[0]?["by"]
                return (by?["who"]?.string, by?["question"]?.string)
            }
            let own = #", "session": "\#(session)""#
            #expect(try await by("", in: own) == ("remembered", id))
            #expect(try await by(#", "hop": 2"#, in: own).0 == "rule")
            #expect(try await by("", in: "").0 == "configuration")
        }
    }
}
