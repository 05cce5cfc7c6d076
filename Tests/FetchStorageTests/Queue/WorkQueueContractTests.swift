import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The queue in PostgreSQL and the one in memory keep the same promises.
@Suite struct WorkQueueContractTests {
    @Test("the queues of nodes in memory keep the promise", arguments: WorkQueueContract.clauses)
    func memory(_ clause: Clause<JobsSubject>) async throws {
        #expect(try await clause.differences(in: .memory()) == [])
    }

    @Test("the queues of nodes in PostgreSQL keep the promise", arguments: WorkQueueContract.clauses)
    func postgres(_ clause: Clause<JobsSubject>) async throws {
        try await StoreFixture.with { fixture in
            let differences = try await clause.differences(in: fixture.jobsSubject)
            #expect(differences == [])
        }
    }

    /// Over one server, which takes what several take.
    @Test(
        "the queues of nodes keep the promise in the statements for several servers",
        arguments: WorkQueueContract.clauses)
    func sharded(_ clause: Clause<JobsSubject>) async throws {
        try await StoreFixture.with { fixture in
            fixture.database.setSharded()
            let differences = try await clause.differences(in: fixture.jobsSubject)
            #expect(differences == [])
        }
    }
}
