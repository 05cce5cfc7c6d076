import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The sessions in PostgreSQL and those in memory keep the same promises.
@Suite struct SessionStoreContractTests {
    @Test("the sessions in memory keep the promise", arguments: SessionStoreContract.clauses)
    func memory(_ clause: Clause<SessionStoreContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let store = MemorySessionStore(jobs: jobs)
        let subject = SessionStoreContract.Subject(jobs: .memory(jobs), store: store, snapshots: store)
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the sessions in PostgreSQL keep the promise", arguments: SessionStoreContract.clauses)
    func postgres(_ clause: Clause<SessionStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresSessionStore(client: fixture.database.client, jobs: fixture.store())
            let snapshots = PostgresSnapshotStore(client: fixture.database.client)
            let subject = SessionStoreContract.Subject(jobs: fixture.jobsSubject, store: store, snapshots: snapshots)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
