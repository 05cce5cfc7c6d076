import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import Synchronization
import TestSupport
import Testing

/// Questions in PostgreSQL and in memory keep the same promises.
@Suite struct QuestionStoreTests {
    @Test("the questions in memory keep the promise", arguments: QuestionStoreContract.clauses)
    func memory(_ clause: Clause<QuestionStoreContract.Subject>) async throws {
        let jobs = try (0..<4).map { _ in try claimed() }
        let store = MemoryQuestionStore(maximumOpen: 3)
        store.hold(Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, $0.claim) }))
        let subject = QuestionStoreContract.Subject(store: store, answers: store, node: Node.ID(), jobs: jobs)
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the questions in PostgreSQL keep the promise", arguments: QuestionStoreContract.clauses)
    func postgres(_ clause: Clause<QuestionStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let subject = QuestionStoreContract.Subject(
                store: questions(fixture), answers: resources(fixture), node: fixture.nodes[0],
                jobs: try await claim(4, fixture))
            #expect(try await clause.differences(in: subject) == [])
        }
    }

    private func claimed() throws -> ClaimedJob {
        let job = try NewJob.make()
        return ClaimedJob(id: job.id, tenant: job.tenant, spec: job.spec, claim: 1)
    }

    private func questions(_ fixture: StoreFixture) -> PostgresQuestionStore {
        let limits = KnownTenantLimits(standard: [.maximumOpenQuestions: 3])
        return PostgresQuestionStore(
            client: fixture.database.client, keys: fixture.keys,
            quota: .openQuestions(of: limits, client: fixture.database.client))
    }

    private func resources(_ fixture: StoreFixture) -> PostgresSessionResources {
        PostgresSessionResources(
            client: fixture.database.client, keys: fixture.keys, node: fixture.nodes[0], peers: Peers(),
            blobs: MemoryBlobStore(), logger: TestDatabase.logger)
    }

    private func claim(_ count: Int, _ fixture: StoreFixture) async throws -> [ClaimedJob] {
        _ = try await fixture.store().enqueue((0..<count).map { _ in try NewJob.make() })
        return try await fixture.queue().claim(limit: count)
    }

    private func question(of job: ClaimedJob) -> AskedQuestion {
        let kind = Question.Kind.willPerformHTTPRedirection
        return AskedQuestion(
            tenant: job.tenant, job: job.id, claim: job.claim, sequence: 1, kind: kind, host: "a.example", group: nil,
            labels: [], content: RawJSON(Array("{}".utf8)), limits: AnswerLimits(words: kind.words), endpoint: nil)
    }

    @Test func `a job awaits a decision from its question to the answer`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            let asking = try await fixture.store().job(job.id, of: fixture.tenant)
            #expect(asking?.state == .awaitingDecision && asking?.waitingFor == question.id)
            let waiting = try await fixture.store().jobs(
                of: fixture.tenant, state: .awaitingDecision, page: JobPage(limit: 9))
            #expect(waiting.map(\.id) == [job.id])
            #expect(
                try await fixture.store().jobs(of: fixture.tenant, state: .running, page: JobPage(limit: 9)).isEmpty)
            let figures = try await PostgresFiguresStore(client: fixture.database.client).figures(of: fixture.tenant)
            #expect(figures.current[.awaitingDecision] == 1 && figures.openQuestions == 1)
            _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            let going = try await fixture.store().job(job.id, of: fixture.tenant)
            #expect(going?.state == .running && going?.waitingFor == nil)
        }
    }

    // Proves: REL-2.
    @Test func `the question of a node that is lost is superseded, and its job waits for another`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let job = try await claim(1, fixture)[0]
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            try await fixture.database.client.query(
                "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[0])")
            _ = try await fixture.queue(1).rescue()
            #expect(try await store.question(question.id, of: fixture.tenant)?.reason == .superseded)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .queued)
            guard
                case .closed = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            else {
                Issue.record("an answer was taken")
                return
            }
        }
    }

    // Proves: REL-6.
    @Test func `the question of a job that ends with its node is withdrawn`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let job = try await claim(1, fixture)[0]
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            #expect(try await fixture.queue().begin(job))
            try await fixture.database.client.query(
                "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[0])")
            _ = try await fixture.queue(1).rescue()
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .failed)
            #expect(try await store.question(question.id, of: fixture.tenant)?.reason == .withdrawn)
        }
    }

    /// Lets a node lose its jobs to the second one.
    private func lose(_ node: Int = 0, _ fixture: StoreFixture) async throws {
        try await fixture.database.client.query(
            "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[node])")
        _ = try await fixture.queue(1 - node).rescue()
    }

    // Proves: REL-2, REL-6.
    @Test func `a job that waits at a position is parked when its node is lost, even if it had begun`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let job = try await claim(1, fixture)[0]
            #expect(try await fixture.queue().begin(job))
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: try load(), timeout: .seconds(60), at: fixture.nodes[0])
            try await lose(0, fixture)
            let parked = try await fixture.store().job(job.id, of: fixture.tenant)
            #expect(parked?.state == .awaitingDecision && parked?.waitingFor == question.id)
            #expect(try await store.question(question.id, of: fixture.tenant)?.state == .open)
            #expect(try await fixture.queue(1).claim(limit: 9).isEmpty)
            #expect(try await fixture.queue().begin(job) == false)
            _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            let next = try #require(try await fixture.queue(1).claim(limit: 9).first)
            #expect(next.resumesAt == question.id && next.tries == 0)
            #expect(try await fixture.count("attempts") == 0)
            let crashes = try await fixture.database.client.query("SELECT FROM queue WHERE crashes > 0")
            #expect(crashes.isEmpty)
        }
    }

    // Proves: REL-2, REL-6.
    @Test func `an answer that the lost node has not used is the next one's, and one that it has used ends the job`()
        async throws
    {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let jobs = try await claim(2, fixture)
            let store = questions(fixture)
            for job in jobs {
                #expect(try await fixture.queue().begin(job))
                let question = question(of: job)
                _ = try await store.ask(question, of: try load(), timeout: .seconds(60), at: fixture.nodes[0])
                _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            }
            #expect(try await fixture.queue().begin(jobs[1]))
            try await lose(0, fixture)
            #expect(try await fixture.queue(1).claim(limit: 9).map(\.id) == [jobs[0].id])
            let failed = try await fixture.store().job(jobs[1].id, of: fixture.tenant)
            #expect(failed?.state == .failed)
        }
    }

    @Test func `who answers hears which node holds the load`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try await claim(2, fixture)
            let heard = Mutex<[Question.ID: Node.ID]>([:])
            let store = PostgresQuestionStore(
                client: fixture.database.client, keys: fixture.keys,
                onEndOfHeld: { ends in heard.withLock { $0.merge(ends) { $1 } } })
            let held = question(of: jobs[0])
            _ = try await store.ask(held, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            let parked = try await park(jobs[1], store, fixture)
            for id in [held.id, parked.id] {
                _ = try await store.answer(id, of: fixture.tenant, Reply(.cancel), by: .operator)
            }
            #expect(heard.withLock(\.self) == [held.id: fixture.nodes[0]])
        }
    }

    @Test func `a job that is given back while it waits at a position is parked`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: try load(), timeout: .seconds(60), at: fixture.nodes[0])
            #expect(try await fixture.queue().release([job]) == [job.id])
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.waitingFor == question.id)
            #expect(try await fixture.queue(1).claim(limit: 9).isEmpty)
        }
    }

    @Test func `a position is removed when no job goes on from there`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try await claim(2, fixture)
            let store = questions(fixture)
            for job in jobs {
                let question = question(of: job)
                _ = try await store.ask(question, of: try load(), timeout: .seconds(60), at: fixture.nodes[0])
                _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            }
            #expect(try await fixture.queue().settle(jobs[0], .make(.succeeded)))
            try await fixture.database.client.query("UPDATE questions SET ended_at = now() - interval '2 minutes'")
            let expired = PostgresExpiredRowStore(client: fixture.database.client)
            #expect(try await expired.remove(.questions, keeping: Retention()) == 1)
            let kept = "SELECT job_id FROM questions WHERE \"position\" IS NOT NULL" as Query
            let rows = try await fixture.database.client.query(kept)
            #expect(try rows.map { try $0.decode(Job.ID.self, at: 0) } == [jobs[1].id])
        }
    }

    private func park(
        _ job: ClaimedJob, _ store: PostgresQuestionStore, _ fixture: StoreFixture, timeout: Duration = .seconds(60)
    ) async throws -> AskedQuestion {
        let question = question(of: job)
        _ = try await store.ask(question, of: try load(), timeout: timeout, at: fixture.nodes[0])
        #expect(try await store.park(question, isBeingAsked: false, at: fixture.nodes[0]))
        return question
    }

    private func load() throws -> ParkedLoad {
        try #require(ParkedLoad(LoadPosition(), decisions: nil, decided: 1, asked: 1))
    }

    @Test func `a parked job awaits a decision without a node, and is any node's when it has come`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let calls = Mutex(0)
            let store = PostgresQuestionStore(
                client: fixture.database.client, keys: fixture.keys, onDue: { calls.withLock { $0 += 1 } })
            let question = try await park(job, store, fixture)
            let parked = try await fixture.store().job(job.id, of: fixture.tenant)
            #expect(parked?.state == .awaitingDecision && parked?.waitingFor == question.id)
            for (state, jobs) in [(JobState.awaitingDecision, [job.id]), (.scheduled, []), (.running, [])] {
                let listed = try await fixture.store().jobs(of: fixture.tenant, state: state, page: JobPage(limit: 9))
                #expect(listed.map(\.id) == jobs)
            }
            #expect(try await fixture.queue(1).claim(limit: 9).isEmpty)
            #expect(try await fixture.queue().settle(job, .make(.succeeded)) == false)
            _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            #expect(calls.withLock { $0 } == 1)
            let next = try #require(try await fixture.queue(1).claim(limit: 9).first)
            #expect(next.id == job.id && next.resumesAt == question.id && next.tries == 0)
            let (_, end, _) = try #require(try await store.parked(question.id, of: fixture.tenant))
            #expect(end == .answered(.cancel, by: .operator))
        }
    }

    @Test func `a parked job whose question nobody answers is due at the deadline`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let store = questions(fixture)
            let question = try await park(job, store, fixture)
            let client = fixture.database.client
            try await client.query("UPDATE questions SET deadline = now() - interval '2 minutes'")
            try await client.query("UPDATE queue SET run_at = now() - interval '2 minutes'")
            // It is left to the node that claims the job.
            #expect(try await PostgresExpiredRowStore(client: client).remove(.questions, keeping: Retention()) == 0)
            #expect(try await fixture.queue().promote().hasQueuedJobs)
            #expect(try await fixture.queue(1).claim(limit: 9).map(\.resumesAt) == [question.id])
            #expect(try await store.close(question.id, of: fixture.tenant, .expired) == .closed(.expired))
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .running)
        }
    }

    @Test func `cancelling a parked job ends it, and withdraws its question`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let store = questions(fixture)
            let question = try await park(job, store, fixture)
            try await fixture.store().cancel([job.id], of: fixture.tenant, .plainly)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .cancelled)
            #expect(try await store.question(question.id, of: fixture.tenant)?.reason == .withdrawn)
        }
    }

    // Proves: REL-2.
    @Test func `a job that is lost after it was parked goes on from there again, and a retry begins anew`() async throws
    {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue(1).heartbeat()
            let job = try await claim(1, fixture)[0]
            let store = questions(fixture)
            let question = try await park(job, store, fixture)
            _ = try await store.answer(question.id, of: fixture.tenant, Reply(.cancel), by: .operator)
            _ = try await fixture.queue(1).claim(limit: 9)
            try await fixture.database.client.query(
                "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[1])")
            _ = try await fixture.queue().rescue()
            let again = try #require(try await fixture.queue().claim(limit: 9).first)
            #expect(again.resumesAt == question.id)
            #expect(try await fixture.queue().retry(again, .make(.failed), after: .zero))
            _ = try await fixture.queue().promote()
            #expect(try await fixture.queue().claim(limit: 9).map(\.resumesAt) == [nil])
        }
    }

    // Proves: SEC-50.
    @Test func `where a load stands is stored sealed`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await park(try await claim(1, fixture)[0], questions(fixture), fixture)
            let rows = try await fixture.database.client.query("SELECT \"position\" FROM questions")
            let stored = try #require(try rows.first?.decode([UInt8].self, at: 0))
            #expect(!String(decoding: stored, as: UTF8.self).contains("position"))
        }
    }

    @Test func `questions of jobs that are over take no room`() async throws {
        try await StoreFixture.with { fixture in
            let (store, job) = (questions(fixture), try await claim(1, fixture)[0])
            for _ in 0..<3 {
                let late = question(of: ClaimedJob(id: job.id, tenant: job.tenant, spec: job.spec, claim: 2))
                #expect(try await store.ask(late, of: nil, timeout: .seconds(60), at: fixture.nodes[0]) == .jobIsOver)
            }
            let asking = try await store.ask(question(of: job), of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            #expect({ if case .open = asking { true } else { false } }())
        }
    }

    @Test func `an open question that nobody closed is closed, and takes no room meanwhile`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try await claim(4, fixture)
            let store = questions(fixture)
            let asked = jobs.map { question(of: $0) }
            for question in asked.prefix(3) {
                _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            }
            let full = try await store.ask(asked[3], of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            #expect({ if case .tooMany = full { true } else { false } }())
            try await fixture.database.client.query("UPDATE questions SET deadline = now() - interval '2 minutes'")
            // A count is good for a while.
            try await until {
                let next = try await store.ask(asked[3], of: nil, timeout: .seconds(60), at: fixture.nodes[0])
                return if case .open = next { true } else { false }
            }
            let expired = PostgresExpiredRowStore(client: fixture.database.client)
            #expect(try await expired.remove(.questions, keeping: Retention()) == 3)
            #expect(try await store.question(asked[0].id, of: fixture.tenant)?.reason == .expired)
            #expect(try await fixture.store().job(jobs[0].id, of: fixture.tenant)?.state == .running)
            #expect(try await fixture.store().job(jobs[3].id, of: fixture.tenant)?.state == .awaitingDecision)
        }
    }

    @Test func `questions go with their job`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let (store, question) = (questions(fixture), question(of: job))
            _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            _ = try await store.close(question.id, of: fixture.tenant, .withdrawn)
            #expect(try await fixture.queue().settle(job, .make(.cancelled)))
            #expect(try await fixture.store().remove([job.id], of: fixture.tenant) == [job.id])
            #expect(try await fixture.count("questions") == 0)
        }
    }

    // Proves: SEC-50.
    @Test func `an answer with a secret is stored sealed`() async throws {
        try await StoreFixture.with { fixture in
            let job = try await claim(1, fixture)[0]
            let store = questions(fixture)
            let kind = Question.Kind.didReceiveChallenge
            let question = AskedQuestion(
                tenant: job.tenant, job: job.id, claim: job.claim, sequence: 1, kind: kind, host: nil, group: nil,
                labels: [], content: RawJSON(Array("{}".utf8)), limits: AnswerLimits(words: kind.words), endpoint: nil)
            _ = try await store.ask(question, of: nil, timeout: .seconds(60), at: fixture.nodes[0])
            let text = #"{"answer":"useCredential","credential":{"user":"me","password":"hush"}}"#
            let body = Answer.useBody(.text("hush"))
            #expect(!String(decoding: Reply(body).shown.bytes, as: UTF8.self).contains("hush"))
            let sealed = try JSONParser.parse(try #require(Reply(body).secretBytes))
            #expect(try Reply(json: sealed, to: .needNewBodyStream).answer == body)
            let reply = try Reply(json: JSONParser.parse(text.utf8), to: kind)
            _ = try await store.answer(question.id, of: fixture.tenant, reply, by: .operator)
            let rows = try await fixture.database.client.query(
                "SELECT q::text, sealed_answer IS NOT NULL FROM questions q")
            #expect(try rows.first?.decode(Bool.self, at: 1) == true)
            #expect(try rows.first?.decode(String.self, at: 0).contains("hush") == false)
        }
    }
}
