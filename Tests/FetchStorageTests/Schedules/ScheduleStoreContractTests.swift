import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The schedules in PostgreSQL and those in memory keep the same promises.
@Suite struct ScheduleStoreContractTests {
    @Test("the schedules in memory keep the promise", arguments: ScheduleStoreContract.clauses)
    func memory(_ clause: Clause<ScheduleStoreContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let subject = ScheduleStoreContract.Subject(jobs: .memory(jobs), store: MemoryScheduleStore(jobs: jobs))
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the schedules in PostgreSQL keep the promise", arguments: ScheduleStoreContract.clauses)
    func postgres(_ clause: Clause<ScheduleStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresScheduleStore(
                client: fixture.database.client, jobs: fixture.store(), keys: fixture.keys)
            let subject = ScheduleStoreContract.Subject(jobs: fixture.jobsSubject, store: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    @Test("the times of schedules in memory keep the promise", arguments: ScheduleQueueContract.clauses)
    func memoryQueue(_ clause: Clause<ScheduleQueueContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let store = MemoryScheduleStore(jobs: jobs)
        let subject = ScheduleQueueContract.Subject(jobs: .memory(jobs), store: store, queue: store)
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the times of schedules in PostgreSQL keep the promise", arguments: ScheduleQueueContract.clauses)
    func postgresQueue(_ clause: Clause<ScheduleQueueContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresScheduleStore(
                client: fixture.database.client, jobs: fixture.store(), keys: fixture.keys)
            let subject = ScheduleQueueContract.Subject(jobs: fixture.jobsSubject, store: store, queue: store)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
