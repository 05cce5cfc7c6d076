import FetchEngine
import FetchJobs
import FetchStorage
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The remembered answers of sessions, in PostgreSQL.
@Suite struct RememberedAnswerTests {
    private struct Fixture {
        let stores: StoreFixture
        let session: SessionAddress
        /// Of two nodes.
        let nodes: [PostgresSessionResources]
        let questions: PostgresQuestionStore

        init(_ stores: StoreFixture) async throws {
            self.stores = stores
            let sessions = PostgresSessionStore(client: stores.database.client, jobs: stores.store())
            let new = NewSession(
                tenant: stores.tenant, spec: try SessionSpec(json: try JSONParser.parse("{}".utf8)))
            guard case .made(.created(let made)) = try await sessions.create(new) else {
                throw StoreError(.failed, "no session was made")
            }
            session = SessionAddress(tenant: stores.tenant, session: made.id)
            let nodes = stores.nodes.map { node in
                PostgresSessionResources(
                    client: stores.database.client, keys: stores.keys, node: node, peers: Peers(),
                    blobs: MemoryBlobStore(), logger: TestDatabase.logger)
            }
            self.nodes = nodes
            questions = PostgresQuestionStore(
                client: stores.database.client, keys: stores.keys,
                onRemember: { nodes[0].require(StoresVersion(answers: $1), of: $0) })
        }

        /// A job of the session, as the first node claims it.
        func claim(enqueuingAt node: Int = 0) async throws -> ClaimedJob {
            let job = try NewJob.make(more: #", "session": "\#(session.session)""#)
            _ = try await stores.store(node).enqueue([job])
            return try #require(try await stores.queue().claim(limit: 1).first)
        }

        /// Answers a question of a job, and has its session remember the answer.
        func remember(of job: ClaimedJob, for seconds: Int = 60) async throws -> Question.ID {
            let kind = Question.Kind.willPerformHTTPRedirection
            let question = AskedQuestion(
                tenant: job.tenant, job: job.id, claim: job.claim, sequence: 1, kind: kind, host: nil, group: nil,
                session: session.session, labels: [], content: RawJSON(Array("{}".utf8)),
                limits: AnswerLimits(words: kind.words), endpoint: nil)
            _ = try await questions.ask(question, of: nil, timeout: .seconds(60), at: stores.nodes[0])
            let text = #"{"answer": "cancel", "remember": {"seconds": \#(seconds), "when": {}}}"#
            _ = try await questions.answer(
                question.id, of: job.tenant, Reply(json: JSONParser.parse(text.utf8), to: question), by: .operator)
            return question.id
        }

        func redirection() throws -> Question {
            let request = Request(url: try URLRecord("https://a.example/"))
            let response = Response(url: request.url, status: 302)
            return Question(
                .redirection(.init(response: response, proposed: request, hop: 1, maximumHops: 9)), about: request)
        }

        /// The answer that a node gives by itself, as a job of this version begins.
        func answer(at node: Int, _ memory: AnswerMemory, _ version: StoresVersion? = nil) async throws -> Question.ID?
        {
            if let version { nodes[node].require(version, of: session) }
            try await memory.catchUp()
            return memory.answer(to: try redirection())?.question
        }
    }

    private func with(_ body: (Fixture) async throws -> Void) async throws {
        try await StoreFixture.with { try await body(try await Fixture($0)) }
    }

    @Test func `the node that takes an answer knows it at once, and others with the next job of the session`()
        async throws
    {
        try await with { fixture in
            let memories = fixture.nodes.map { $0.answerMemory(of: fixture.session) }
            let job = try await fixture.claim()
            #expect(job.stores.answers == 0)
            #expect(try await fixture.answer(at: 0, memories[0], job.stores) == nil)
            let question = try await fixture.remember(of: job)
            #expect(!memories[0].isCurrent && memories[1].isCurrent)
            #expect(try await fixture.answer(at: 0, memories[0]) == question)
            #expect(try await fixture.answer(at: 1, memories[1]) == nil)
            let next = try await fixture.claim(enqueuingAt: 1)
            #expect(next.stores.answers == 1)
            #expect(try await fixture.answer(at: 1, memories[1], next.stores) == question)
            // Answers are forgotten in the same way.
            #expect(try await fixture.nodes[0].forget(question, of: fixture.session) == 1)
            #expect(try await fixture.answer(at: 0, memories[0]) == nil)
            #expect(try await fixture.answer(at: 1, memories[1], try await fixture.claim().stores) == nil)
        }
    }

    @Test func `an answer whose time is over is neither given nor kept`() async throws {
        try await with { fixture in
            let memory = fixture.nodes[0].answerMemory(of: fixture.session)
            let job = try await fixture.claim()
            let (first, second) = (try await fixture.remember(of: job), try await fixture.remember(of: job))
            #expect(try await fixture.answer(at: 0, memory) == second)
            try await fixture.stores.database.client.query(
                """
                UPDATE remembered_answers
                SET remembered_at = remembered_at - interval '61 seconds', expires_at = now() - interval '1 second'
                WHERE question_id = \(second)
                """
            )
            #expect(try await fixture.nodes[0].rememberedAnswers(of: fixture.session).map(\.question) == [first])
            let expired = PostgresExpiredRowStore(client: fixture.stores.database.client)
            #expect(try await expired.remove(.rememberedAnswers, keeping: Retention()) == 1)
            #expect(try await fixture.stores.count("remembered_answers") == 1)
        }
    }

    @Test func `no more rows are kept than a session remembers`() async throws {
        try await with { fixture in
            let job = try await fixture.claim()
            for _ in 0..<RememberedAnswer.maximumOfSession + 3 { _ = try await fixture.remember(of: job) }
            let count = try await fixture.stores.count("remembered_answers")
            #expect(count == Int64(RememberedAnswer.maximumOfSession))
        }
    }

    @Test func `what a session remembers goes with it`() async throws {
        try await with { fixture in
            let job = try await fixture.claim()
            _ = try await fixture.remember(of: job)
            #expect(try await fixture.stores.queue().settle(job, .make(.cancelled)))
            let sessions = PostgresSessionStore(
                client: fixture.stores.database.client, jobs: fixture.stores.store())
            _ = try await sessions.invalidate(fixture.session.session, of: fixture.session.tenant, .finish)
            #expect(try await sessions.remove(fixture.session.session, of: fixture.session.tenant))
            #expect(try await fixture.stores.count("remembered_answers") == 0)
        }
    }
}
