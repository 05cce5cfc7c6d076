import FetchEngine
import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// The stores that a node's ephemeral sessions are added to keep the promises of the stores beneath.
@Suite struct EphemeralStoresContractTests {
    /// The stores of a node over those in memory.
    private func with(
        _ body: (JobsSubject, SessionStoreContract.Subject) async throws -> Void
    ) async throws {
        let jobs = MemoryJobStore()
        let sessions = MemorySessionStore(jobs: jobs)
        let queues = [MemoryWorkQueue(jobs), MemoryWorkQueue(jobs)]
        let node = try await WorkerNode(queue: queues[0], jobs: jobs, sessions: sessions)
        let ephemeral = EphemeralSessions(
            node: Node.ID(), runner: node.runner, defaults: SessionConfiguration(),
            questions: EphemeralQuestions(), waiters: CompletionWaiters(), makeSession: { Session(configuration: $0) })
        let subject = JobsSubject(
            store: EphemeralJobStore(stored: jobs, sessions: sessions, ephemeral: ephemeral), queues: queues,
            lose: { queues[$0].lose() }, letPass: { queues[0].letPass($0) })
        let store = EphemeralSessionStore(stored: sessions, ephemeral: ephemeral)
        try await body(subject, SessionStoreContract.Subject(jobs: subject, store: store, snapshots: sessions))
    }

    @Test("the jobs of a node keep the promise", arguments: JobStoreContract.clauses)
    func jobs(_ clause: Clause<JobsSubject>) async throws {
        try await with { jobs, _ in
            let differences = try await clause.differences(in: jobs)
            #expect(differences == [])
        }
    }

    @Test("the sessions of a node keep the promise", arguments: SessionStoreContract.clauses)
    func sessions(_ clause: Clause<SessionStoreContract.Subject>) async throws {
        try await with { _, sessions in
            let differences = try await clause.differences(in: sessions)
            #expect(differences == [])
        }
    }
}
