import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The groups in PostgreSQL and those in memory keep the same promises.
@Suite struct GroupStoreContractTests {
    @Test("the groups in memory keep the promise", arguments: GroupStoreContract.clauses)
    func memory(_ clause: Clause<GroupStoreContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let subject = GroupStoreContract.Subject(jobs: .memory(jobs), store: MemoryGroupStore(jobs: jobs))
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the groups in PostgreSQL keep the promise", arguments: GroupStoreContract.clauses)
    func postgres(_ clause: Clause<GroupStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresGroupStore(client: fixture.database.client)
            let subject = GroupStoreContract.Subject(jobs: fixture.jobsSubject, store: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    /// Over one server, which takes what several take.
    @Test("the groups keep the promise in the statements for several servers", arguments: GroupStoreContract.clauses)
    func sharded(_ clause: Clause<GroupStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            fixture.database.setSharded()
            let store = PostgresGroupStore(client: fixture.database.client)
            let subject = GroupStoreContract.Subject(jobs: fixture.jobsSubject, store: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
