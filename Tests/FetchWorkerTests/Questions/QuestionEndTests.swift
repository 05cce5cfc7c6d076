import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// What becomes of questions whose answers another node takes than the one that holds the load.
@Suite(.timeLimit(.minutes(1))) struct QuestionEndTests {
    private func question() -> AskedQuestion {
        let kind = Question.Kind.willPerformHTTPRedirection
        return AskedQuestion(
            tenant: .first, job: Job.ID(), claim: 1, sequence: 1, kind: kind, host: nil, group: nil, labels: [],
            content: RawJSON(Array("{}".utf8)), limits: AnswerLimits(words: kind.words), endpoint: nil)
    }

    // The clock stands still: nothing is found by looking now and then.
    @Test func `the node that holds a load is told of an answer that another one takes`() async throws {
        try await TestDatabase.with { database in
            let (owner, open) = (Node.ID(), OpenQuestions())
            let listens = Mutex(false)
            let own = Notifications(client: database.client, node: owner, onNotice: { _ in }) { ids in
                open.noteEnds(of: ids)
                if ids == nil { listens.withLock { $0 = true } }
            }
            let other = Notifications(client: database.client, node: Node.ID(), onNotice: { _ in }, onEnd: { _ in })
            let store = MemoryQuestionStore(onEnd: { ends in other.announce(ends.mapValues { _ in owner }) })
            let delegates = RemoteDelegates(
                store: store, open: open,
                judge: AnswerJudge(
                    credentials: MemoryCredentialCatalog(), blobs: MemoryBlobCatalog(jobs: MemoryJobStore()),
                    refusal: { _, _ in nil }),
                deliveries: MemoryWebhookStore(), session: Session(configuration: .ephemeral),
                intake: NodeIntake(
                    concurrency: 1, lease: .seconds(15), limits: EqualLimits(), clock: ManualClock().clock),
                live: LiveJobs(), node: owner, metrics: MetricsRegistry(), logger: .silent)
            let services = ServiceGroup(services: [own, other, delegates], logger: .silent)
            try await withThrowingTaskGroup { group in
                group.addTask { try await services.run() }
                try await until { listens.withLock(\.self) }
                // More than one notice has room for.
                for _ in 0..<500 {
                    let question = question()
                    open.begin(QuestionKey(tenant: .first, id: question.id))
                    _ = try await store.ask(question, of: nil, timeout: .seconds(600), at: owner)
                    group.addTask {
                        let end = await open.end(of: question.id, StopSwitch(tenant: .first))
                        guard case .known(.answered(.follow(nil), _)) = end else {
                            throw StoreError(.failed, "The load goes on by something else.")
                        }
                    }
                    _ = try await store.answer(question.id, of: .first, Reply(.follow(nil)), by: .operator)
                }
                for _ in 0..<500 { try await group.next() }
                await services.triggerGracefulShutdown()
            }
        }
    }
}
