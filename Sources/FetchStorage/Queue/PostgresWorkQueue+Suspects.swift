package import FetchJobs
import Postgres

// Jobs that were lost with their nodes so often that they may have been the cause: claims leave them to this.

extension PostgresWorkQueue {
    package func nextTrial() async throws(StoreError) -> Int? {
        guard !known.isPaused else { return nil }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- queue.nextTrial
                SELECT max(\(Query.mostCompany))::bigint
                FROM queue q
                WHERE \(Query.isWaitingSuspect) AND q.tenant_id <> ALL (\(Array(known.pausedTenants)))
                """
            )
            let count = try rows.first?.decode(Int64?.self, at: 0) ?? nil
            return count.map { Int($0) }
        }
    }

    package func claimSuspects(_ count: Int) async throws(StoreError) -> [ClaimedJob] {
        try await StoreError.wrap {
            let jobs: Query =
                client.isSharded
                ? "CROSS JOIN (SELECT NULL::json AS spec, NULL::bytea AS sealed_secrets) AS j"
                : "JOIN jobs j ON j.tenant_id = c.tenant_id AND j.id = c.job_id"
            let rows = try await client.query(
                """
                -- queue.claimSuspects
                WITH due AS MATERIALIZED (
                    SELECT q.ctid AS row_id, q.tenant_id, q.job_id, q.flow, q.host, q.in_flow, q.in_host
                    FROM queue q
                    WHERE \(Query.isWaitingSuspect) AND q.tenant_id <> ALL (\(Array(known.pausedTenants)))
                        AND \(Query.mostCompany) = \(Int64(count))
                    ORDER BY q.rank, q.run_at, q.job_id
                    LIMIT \(count)
                    FOR UPDATE SKIP LOCKED
                ), \(Query.claimingUnlessGated(at: node, client.isSharded))
                SELECT \(Query.claimedColumns(weight: "NULL::smallint", waiting: "NULL::bigint[]"))
                FROM claimed c
                \(jobs)
                LEFT JOIN session_stores t ON t.tenant_id = c.tenant_id AND t.session_id = \(TenantSession.ID.default)
                LEFT JOIN session_stores s ON s.tenant_id = c.tenant_id
                    AND s.session_id = coalesce(c.session_id, \(TenantSession.ID.default))
                """
            )
            let read = try await read(
                rows, try await specs(ofClaimed: rows), ofEach: Self.bytesOfClaim)
            try await end(read.unreadable)
            try await giveBack(read.left)
            return read.jobs
        }
    }

    package func beginTrial(_ jobs: [ClaimedJob], isAlone: Bool) async throws(StoreError) -> Set<Job.ID> {
        try await StoreError.wrap {
            let jobs = jobs.sorted { $0.comes(before: $1) }
            let rows = try await client.query(
                """
                -- queue.beginTrial
                UPDATE queue q
                SET company = \(Int16(clamping: jobs.count)), trial_claim = CASE WHEN \(isAlone) THEN q.claim ELSE 0 END
                FROM unnest(\(jobs.map(\.tenant)), \(jobs.map(\.id)), \(jobs.map(\.claim)))
                    AS held (tenant_id, job_id, claim)
                WHERE q.tenant_id = held.tenant_id AND q.job_id = held.job_id AND q.claim = held.claim
                    AND q.node_id = \(node)
                RETURNING q.job_id
                """
            )
            return Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        }
    }
}

extension Query {
    /// Whether a row of the queue is a suspect that waits, with the condition of its index.
    static let isWaitingSuspect: Query =
        """
        q.crashes >= 2 AND q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL
            AND (q.expires_at IS NULL OR q.expires_at > now())
        """

    /// How many suspects a row may be tried with: a quarter of those that it was lost with the last time.
    fileprivate static let mostCompany: Query =
        "CASE WHEN q.company = 0 THEN 16 ELSE greatest(1, q.company / 4) END"
}
