package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    /// How many jobs of one tenant one statement removes.
    private static let removalLimit = 1000

    package func maintainPartitions(for retention: Duration) async throws(StoreError) {
        try await StoreError.wrap {
            try await client.query(
                """
                -- jobs.maintainPartitions
                SELECT maintain_job_partitions(\(retention))
                """
            )
        }
    }

    package func removeFinal(after retention: Duration) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            // Ids tell when jobs were stored: those of newer ones need not be looked at.
            let boundary = Job.ID(earliestAt: Timestamp.now.advanced(by: .zero - retention))
            let rows = try await client.query(
                """
                -- jobs.removeFinal
                WITH boundary AS MATERIALIZED (
                    -- What is in a partition that is not over yet goes with it.
                    SELECT least(\(boundary), earliest_id(min(starts_at))) AS id
                    FROM job_partitions
                    WHERE ends_at >= now() - \(retention)
                ), target AS MATERIALIZED (
                    SELECT old.tenant_id, old.job_id
                    FROM tenants t
                    CROSS JOIN LATERAL (
                        SELECT r.tenant_id, r.job_id
                        FROM results r
                        WHERE r.tenant_id = t.id AND r.job_id < (SELECT id FROM boundary)
                            AND r.finished_at < now() - \(retention)
                        ORDER BY r.job_id
                        LIMIT \(Self.removalLimit)
                        FOR UPDATE SKIP LOCKED
                    ) old
                ), \(Query.removing(at: presence.id))
                """
            )
            return rows.count
        }
    }
}
