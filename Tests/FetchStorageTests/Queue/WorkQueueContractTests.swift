import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The queue in PostgreSQL and the one in memory keep the same promises.
@Suite struct WorkQueueContractTests {
    @Test("the queue in memory keeps the promise", arguments: WorkQueueContract.clauses)
    func memory(_ clause: Clause<WorkQueueContract.Subject>) async throws {
        let store = MemoryJobStore()
        let queues = [MemoryWorkQueue(store), MemoryWorkQueue(store)]
        let subject = WorkQueueContract.Subject(
            store: store, queues: queues, lose: { queues[$0].lose() }, letPass: { queues[0].letPass($0) })
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the queue in PostgreSQL keeps the promise", arguments: WorkQueueContract.clauses)
    func postgres(_ clause: Clause<WorkQueueContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let differences = try await clause.differences(in: fixture.queueSubject)
            #expect(differences == [])
        }
    }
}

extension StoreFixture {
    /// Its store and queues, whose time a clause moves.
    fileprivate var queueSubject: WorkQueueContract.Subject {
        WorkQueueContract.Subject(
            store: store(), queues: [queue(0), queue(1)],
            lose: { [client = database.client, nodes] node in
                try await client.query(
                    "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(nodes[node])")
            },
            letPass: { [client = database.client] time in
                try await client.query(
                    """
                    UPDATE queue
                    SET run_at = run_at - \(time), claimed_at = claimed_at - \(time), expires_at = expires_at - \(time)
                    """)
                try await client.query("UPDATE results SET finished_at = finished_at - \(time)")
            }
        )
    }
}
