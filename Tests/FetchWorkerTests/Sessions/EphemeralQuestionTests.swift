import FetchEngine
import FetchJobs
import FetchRuntime
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// Questions of ephemeral sessions, which are in memory, beside those that are stored.
@Suite struct EphemeralQuestionTests {
    private static let tenant = Tenant.ID(rawValue: 1)

    private func asked(_ job: Job.ID, content: String = "{}", tenant: Tenant.ID = tenant) -> AskedQuestion {
        AskedQuestion(
            tenant: tenant, job: job, claim: 1, sequence: 1, kind: .willPerformHTTPRedirection, host: "a.example:80",
            group: nil, labels: [], content: RawJSON(Array(content.utf8)),
            limits: AnswerLimits(words: [.follow, .cancel]), endpoint: nil)
    }

    private func store(
        _ questions: EphemeralQuestions, _ stored: MemoryQuestionStore = MemoryQuestionStore()
    ) -> EphemeralQuestionStore {
        stored.hold([:])
        return EphemeralQuestionStore(stored: stored, ephemeral: questions)
    }

    private func ask(_ question: AskedQuestion, in store: EphemeralQuestionStore) async throws -> Asking {
        try await store.ask(question, of: nil, timeout: .seconds(60), at: Node.ID())
    }

    @Test func `a question is asked, listed and answered once`() async throws {
        let ends = Mutex<[Question.ID: QuestionEnd]>([:])
        let questions = EphemeralQuestions(onEnd: { new in ends.withLock { $0.merge(new) { $1 } } })
        let (store, job) = (store(questions), Job.ID())
        questions.begin(job)
        let question = asked(job)
        guard case .open = try await ask(question, in: store) else { throw StoreError(.failed, "not asked") }
        #expect(questions.open(of: job) == question.id)
        let open = try await store.questions(
            of: Self.tenant, matching: QuestionFilter(state: .open), after: nil, limit: 10)
        #expect(open.map(\.id) == [question.id])
        guard case .accepted = try await store.answer(question.id, of: Self.tenant, Reply(.cancel), by: .operator),
            case .accepted = try await store.answer(question.id, of: Self.tenant, Reply(.cancel), by: .operator),
            case .alreadyAnswered = try await store.answer(
                question.id, of: Self.tenant, Reply(.follow(nil)), by: .operator)
        else { throw StoreError(.failed, "not answered once") }
        let end = QuestionEnd.answered(.cancel, by: .operator)
        #expect(ends.withLock { $0 } == [question.id: end])
        #expect(try await store.ends(of: [QuestionKey(tenant: Self.tenant, id: question.id)]) == [question.id: end])
        #expect(questions.open(of: job) == nil)
        #expect(try await store.lastEnded(of: Self.tenant, limit: 5).map(\.id) == [question.id])
    }

    @Test func `another tenant neither sees nor answers it`() async throws {
        let questions = EphemeralQuestions()
        let (store, job, other) = (store(questions), Job.ID(), Tenant.ID(rawValue: 2))
        questions.begin(job)
        let question = asked(job)
        _ = try await ask(question, in: store)
        #expect(try await store.question(question.id, of: other) == nil)
        #expect(try await store.questions(of: other, matching: QuestionFilter(), after: nil, limit: 9).isEmpty)
        guard case .notFound = try await store.answer(question.id, of: other, Reply(.cancel), by: .operator) else {
            throw StoreError(.failed, "answered")
        }
        #expect(try await store.close(question.id, of: other, .withdrawn) == nil)
        #expect(questions.open(of: job) == question.id)
    }

    @Test func `a closed one stays closed, and none expires before its deadline`() async throws {
        let questions = EphemeralQuestions()
        let (store, job) = (store(questions), Job.ID())
        questions.begin(job)
        let question = asked(job)
        _ = try await ask(question, in: store)
        #expect(try await store.close(question.id, of: Self.tenant, .expired) == nil)
        #expect(try await store.close(question.id, of: Self.tenant, .withdrawn) == .closed(.withdrawn))
        #expect(try await store.close(question.id, of: Self.tenant, .superseded) == .closed(.withdrawn))
        guard case .closed = try await store.answer(question.id, of: Self.tenant, Reply(.cancel), by: .operator) else {
            throw StoreError(.failed, "answered")
        }
    }

    @Test func `a tenant has so many open questions, and those of a forgotten job make room`() async throws {
        let questions = EphemeralQuestions(limits: KnownTenantLimits(standard: [.maximumOpenQuestions: 2]))
        let (store, first, second) = (store(questions), Job.ID(), Job.ID())
        for job in [first, second] {
            questions.begin(job)
            guard case .open = try await ask(asked(job), in: store) else { throw StoreError(.failed, "not asked") }
        }
        #expect(try await ask(asked(first), in: store) == .tooMany)
        questions.forget(second)
        #expect(try await ask(asked(second), in: store) == .jobIsOver)
        guard case .open = try await ask(asked(first), in: store) else { throw StoreError(.failed, "not asked") }
    }

    @Test func `those that are over have so many bytes, and the oldest make room`() async throws {
        let questions = EphemeralQuestions(maximumBytes: 250)
        let (store, job) = (store(questions), Job.ID())
        questions.begin(job)
        var ids: [Question.ID] = []
        for _ in 0..<4 {
            let question = asked(job, content: #"{"a":"\#(String(repeating: "x", count: 92))"}"#)
            _ = try await ask(question, in: store)
            _ = try await store.answer(question.id, of: Self.tenant, Reply(.cancel), by: .operator)
            ids.append(question.id)
        }
        let left = try await store.questions(of: Self.tenant, matching: QuestionFilter(), after: nil, limit: 9)
        #expect(left.map(\.id) == Array(ids.suffix(2)))
    }

    @Test func `pages have both, in order`() async throws {
        let (questions, stored) = (EphemeralQuestions(), MemoryQuestionStore())
        let (mine, other) = (Job.ID(), Job.ID())
        let store = EphemeralQuestionStore(stored: stored, ephemeral: questions)
        questions.begin(mine)
        var ids: [Question.ID] = []
        for index in 0..<6 {
            let question = asked(index.isMultiple(of: 2) ? mine : other)
            _ = try await ask(question, in: store)
            ids.append(question.id)
        }
        ids.sort()
        var (seen, last) = ([Question.ID](), Question.ID?.none)
        while true {
            let page = try await store.questions(of: Self.tenant, matching: QuestionFilter(), after: last, limit: 2)
            seen += page.map(\.id)
            guard page.count == 2 else { break }
            last = page.last?.id
        }
        #expect(seen == ids)
    }
}
