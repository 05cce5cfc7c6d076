package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    package func pullForward(limit: Int) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            try await client.query(
                """
                -- queue.pullForward
                WITH patient AS MATERIALIZED (
                    SELECT tenant_id, job_id
                    FROM queue
                    WHERE \(Query.isPatient)
                    ORDER BY run_at
                    LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                )
                UPDATE queue q
                SET scheduled = false, run_at = now()
                FROM patient p
                WHERE q.tenant_id = p.tenant_id AND q.job_id = p.job_id
                """
            ).affected
        }
    }
}

extension Query {
    /// Whether a row of the queue waits for a quiet time, and not for its own start or its next attempt.
    static var isPatient: Query {
        "discretionary AND scheduled AND NOT suspended AND tries = 0 AND run_at <= now() + \(JobSpec.patience)"
    }
}
