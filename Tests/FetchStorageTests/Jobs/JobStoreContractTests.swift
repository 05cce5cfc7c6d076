import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The jobs in PostgreSQL and those in memory keep the same promises.
@Suite struct JobStoreContractTests {
    @Test("the jobs in memory keep the promise", arguments: JobStoreContract.clauses)
    func memory(_ clause: Clause<JobsSubject>) async throws {
        #expect(try await clause.differences(in: .memory()) == [])
    }

    @Test("the jobs in PostgreSQL keep the promise", arguments: JobStoreContract.clauses)
    func postgres(_ clause: Clause<JobsSubject>) async throws {
        try await StoreFixture.with { fixture in
            let differences = try await clause.differences(in: fixture.jobsSubject)
            #expect(differences == [])
        }
    }

    /// Over one server, which takes what several take.
    @Test("the jobs keep the promise in the statements for several servers", arguments: JobStoreContract.clauses)
    func sharded(_ clause: Clause<JobsSubject>) async throws {
        try await StoreFixture.with { fixture in
            fixture.database.setSharded()
            let differences = try await clause.differences(in: fixture.jobsSubject)
            #expect(differences == [])
        }
    }
}
