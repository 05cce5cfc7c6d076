package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    /// Steps from one priority of a tenant to the next: the first job of each is its oldest.
    package func oldestDueAge() async throws(StoreError) -> Duration? {
        guard !known.isPaused else { return nil }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- queue.oldestDue
                WITH RECURSIVE first AS (
                    (\(Self.firstWaiting("true")))
                    UNION ALL
                    SELECT next.tenant_id, next.rank, next.run_at
                    FROM first
                    CROSS JOIN LATERAL (
                        \(Self.firstWaiting("(q.tenant_id, q.rank) > (first.tenant_id, first.rank)"))
                    ) AS next
                )
                SELECT greatest(now() - min(run_at), CASE WHEN min(run_at) IS NOT NULL THEN interval '0' END)
                FROM first
                WHERE tenant_id <> ALL (\(Array(known.pausedTenants)))
                """
            )
            return try rows.first?.decode(Duration?.self, at: 0)
        }
    }

    private static func firstWaiting(_ condition: Query) -> Query {
        """
        SELECT q.tenant_id, q.rank, q.run_at
        FROM queue q
        WHERE q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL AND \(condition)
        ORDER BY q.tenant_id, q.rank, q.run_at, q.job_id
        LIMIT 1
        """
    }
}
