import FetchJobs
import FetchStorage
import Postgres
import TestSupport

extension StoreFixture {
    /// Its store and queues, whose time a clause moves.
    var jobsSubject: JobsSubject {
        JobsSubject(
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
                // All have finished just now; tables on several servers take no more than a value.
                try await client.query("UPDATE results SET finished_at = \(Timestamp.now.advanced(by: .zero - time))")
            }
        )
    }
}
