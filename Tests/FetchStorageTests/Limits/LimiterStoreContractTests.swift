import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The limiters in PostgreSQL and those in memory keep the same promises.
@Suite struct LimiterStoreContractTests {
    @Test("the limiters in memory keep the promise", arguments: LimiterStoreContract.clauses)
    func memory(_ clause: Clause<LimiterStoreContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let subject = LimiterStoreContract.Subject(jobs: .memory(jobs), store: MemoryLimiterStore(jobs: jobs))
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the limiters in PostgreSQL keep the promise", arguments: LimiterStoreContract.clauses)
    func postgres(_ clause: Clause<LimiterStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
            let subject = LimiterStoreContract.Subject(jobs: fixture.jobsSubject, store: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    /// Over one server, which takes what several take.
    @Test(
        "the limiters keep the promise in the statements for several servers", arguments: LimiterStoreContract.clauses)
    func sharded(_ clause: Clause<LimiterStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            fixture.database.setSharded()
            let store = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
            let subject = LimiterStoreContract.Subject(jobs: fixture.jobsSubject, store: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
