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
            if client.isSharded { return try await removeFinalOnShards(before: boundary, after: retention) }
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

    /// The same where the jobs of each tenant are on a server of their own.
    private func removeFinalOnShards(before boundary: Job.ID, after retention: Duration) async throws -> Int {
        let first =
            try await client.query(
                """
                -- jobs.boundary
                SELECT least(\(boundary), earliest_id(min(starts_at)))
                FROM job_partitions
                WHERE ends_at >= now() - \(retention)
                """
            ).first?.decode(Job.ID.self, at: 0) ?? boundary
        let old: Query = "job_id < \(first) AND finished_at < now() - \(retention)"
        let tenants = try await client.query(
            "-- results.tenants\nSELECT DISTINCT tenant_id FROM results WHERE \(old)"
        ).map { try $0.decode(Tenant.ID.self, at: 0) }
        var count = 0
        for tenant in tenants {
            count += try await client.transaction { [presence] connection in
                let found = try await connection.query(
                    """
                    -- results.lock
                    SELECT job_id
                    FROM results
                    WHERE tenant_id = \(tenant) AND \(old)
                    ORDER BY job_id
                    LIMIT \(Self.removalLimit)
                    FOR UPDATE SKIP LOCKED
                    """
                ).map { try $0.decode(Job.ID.self, at: 0) }
                if !found.isEmpty { try await connection.removeOnShards(found, of: tenant, at: presence.id) }
                return found.count
            }
        }
        return count
    }
}
