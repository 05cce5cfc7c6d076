import FetchEngine
package import FetchJobs
import Postgres

extension PostgresJobStore {
    package func redrive(_ jobs: [NewJob]) async throws(StoreError) -> Set<Job.ID> {
        guard let tenant = jobs.first?.tenant else { return [] }
        let redriven = try await StoreError.wrap {
            if client.isSharded { return try await redriveOnShards(jobs, of: tenant) }
            let rows = try await client.query(
                """
                -- jobs.redrive
                WITH input AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(jobs.map(\.tenant)),
                        \(jobs.map(\.id)),
                        \(jobs.map(\.spec.rank)),
                        \(jobs.map(\.spec.webhook?.endpoint)),
                        \(jobs.map(\.spec.session)),
                        \(jobs.map(\.spec.group)),
                        \(jobs.map(\.spec.flow?.key))
                    ) AS input (tenant_id, job_id, rank, endpoint_id, session_id, group_id, flow)
                ), \(Query.sessionsOfInput), target AS MATERIALIZED (
                    SELECT r.tenant_id, r.job_id, i.rank, \(Query.endpoint(of: "i")) AS endpoint_id,
                        i.session_id, i.group_id, i.flow
                    FROM input i
                    JOIN results r ON r.tenant_id = i.tenant_id AND r.job_id = i.job_id
                    LEFT JOIN session ON session.tenant_id = i.tenant_id AND session.id = i.session_id
                    WHERE r.state <> 'succeeded' AND (i.session_id IS NULL OR session.id IS NOT NULL)
                    -- In one order, so that two of these cannot wait for each other.
                    ORDER BY r.tenant_id, r.job_id
                    FOR UPDATE OF r
                ), removed AS (
                    DELETE FROM results r
                    USING target t
                    WHERE r.tenant_id = t.tenant_id AND r.job_id = t.job_id
                    RETURNING t.*, r.attempt, r.started_at, r.finished_at, r.state, r.error_name, r.status, r.transfers,
                        r.decisions, \(Query.keptBytes("r")) AS kept_bytes
                ), attempt AS (
                    -- The last attempt is one that another follows now.
                    \(Query.attempts(ofResults: "removed"))
                ), \(Query.keeping("removed", at: node, bytes: "-kept_bytes")), outdated AS (
                    -- The job will finish again, and be told of then.
                    UPDATE webhook_deliveries d
                    SET state = 'abandoned'
                    FROM removed r
                    WHERE d.tenant_id = r.tenant_id AND d.job_id = r.job_id AND d.state = 'pending'
                ), \(Query.audited(
                    .retryJobs, jobs.count == 1 ? jobs.first?.id.description : nil, of: tenant,
                    details: .ids(jobs.map(\.id)), when: "removed"))
                INSERT INTO queue (tenant_id, job_id, rank, endpoint_id, session_id, group_id, flow, gate, claim)
                SELECT r.tenant_id, r.job_id, r.rank, r.endpoint_id, r.session_id, r.group_id, r.flow,
                    -- At the gate from the start, so that none of those behind it goes first.
                    CASE WHEN l.is_limited OR l.paused THEN 'flow' END,
                    -- Attempts go on being counted, and what an old one would still write stays fenced off.
                    coalesce(
                        r.attempt,
                        (SELECT max(a.number) FROM attempts a WHERE a.tenant_id = r.tenant_id AND a.job_id = r.job_id),
                        0
                    )
                FROM removed r
                LEFT JOIN limiters l ON l.tenant_id = r.tenant_id AND l.kind = 'flow' AND l.key = r.flow
                RETURNING job_id
                """
            )
            return Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        }
        if !redriven.isEmpty {
            callWorkers()
            openGates()
        }
        return redriven
    }

    /// The same where results are on other servers than the queue: they are locked, their jobs put into the queue, and those
    /// removed whose jobs are there.
    private func redriveOnShards(_ jobs: [NewJob], of tenant: Tenant.ID) async throws -> Set<Job.ID> {
        try await client.transaction { [node] connection in
            let ended = try await connection.query(
                """
                -- results.lock
                SELECT r.job_id, \(Query.keptBytes("r")), r.attempt
                FROM results r
                WHERE r.tenant_id = \(tenant) AND r.job_id = ANY (\(jobs.map(\.id))) AND r.state <> 'succeeded'
                ORDER BY r.job_id
                FOR UPDATE
                """
            ).map { row in
                (
                    id: try row.decode(Job.ID.self, at: 0), bytes: try row.decode(Int64?.self, at: 1),
                    attempt: try row.decode(Int32?.self, at: 2)
                )
            }
            let bytes = Dictionary(uniqueKeysWithValues: ended.map { ($0.id, $0.bytes) })
            let found = jobs.filter { bytes.keys.contains($0.id) }
            guard !found.isEmpty else { return [] }
            // Attempts go on being counted, and what an old one would still write stays fenced off.
            let counted = try await connection.query(
                """
                -- attempts.last
                SELECT job_id, max(number)
                FROM attempts
                WHERE tenant_id = \(tenant) AND job_id = ANY (\(found.map(\.id)))
                GROUP BY job_id
                """
            ).map { (try $0.decode(Job.ID.self, at: 0), try $0.decode(Int32.self, at: 1)) }
            let last = ended.compactMap { job in job.attempt.map { (job.id, $0) } }
            let claims = Dictionary(last + counted, uniquingKeysWith: max)
            let queued = try await connection.query(
                """
                -- jobs.redrive
                WITH input AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(found.map(\.tenant)),
                        \(found.map(\.id)),
                        \(found.map(\.spec.rank)),
                        \(found.map(\.spec.webhook?.endpoint)),
                        \(found.map(\.spec.session)),
                        \(found.map(\.spec.group)),
                        \(found.map(\.spec.flow?.key)),
                        \(found.map(\.spec.request.url.hostAndPort)),
                        \(found.map { claims[$0.id] ?? 0 }),
                        \(found.map { bytes[$0.id] ?? nil })
                    ) AS input (
                        tenant_id, job_id, rank, endpoint_id, session_id, group_id, flow, host, claim, kept_bytes
                    )
                ), \(Query.sessionsOfInput), removed AS MATERIALIZED (
                    SELECT i.tenant_id, i.job_id, i.rank, \(Query.endpoint(of: "i")) AS endpoint_id, i.session_id,
                        i.group_id, i.flow, i.host, i.claim, i.kept_bytes
                    FROM input i
                    LEFT JOIN session ON session.tenant_id = i.tenant_id AND session.id = i.session_id
                    WHERE i.session_id IS NULL OR session.id IS NOT NULL
                ), \(Query.keeping("removed", at: node, bytes: "-kept_bytes")), outdated AS (
                    -- The job will finish again, and be told of then.
                    UPDATE webhook_deliveries d
                    SET state = 'abandoned'
                    FROM removed r
                    WHERE d.tenant_id = r.tenant_id AND d.job_id = r.job_id AND d.state = 'pending'
                ), unblocked AS (
                    -- Elsewhere a flow goes on because the result of its job is gone.
                    DELETE FROM flow_blocks b USING removed r WHERE b.tenant_id = r.tenant_id AND b.job_id = r.job_id
                ), \(Query.audited(
                    .retryJobs, jobs.count == 1 ? jobs.first?.id.description : nil, of: tenant,
                    details: .ids(jobs.map(\.id)), when: "removed"))
                INSERT INTO queue (tenant_id, job_id, rank, endpoint_id, session_id, group_id, flow, gate, claim, host)
                SELECT r.tenant_id, r.job_id, r.rank, r.endpoint_id, r.session_id, r.group_id, r.flow,
                    -- At the gate from the start, so that none of those behind it goes first.
                    CASE WHEN l.is_limited OR l.paused THEN 'flow' END,
                    r.claim, r.host
                FROM removed r
                LEFT JOIN limiters l ON l.tenant_id = r.tenant_id AND l.kind = 'flow' AND l.key = r.flow
                RETURNING job_id
                """
            ).map { try $0.decode(Job.ID.self, at: 0) }
            if !queued.isEmpty {
                try await connection.commitInTwoPhases()
                try await connection.query(
                    """
                    -- attempts.redrive
                    \(Query.attempts(ofResults: "results"))
                        AND tenant_id = \(tenant) AND job_id = ANY (\(queued))
                    """
                )
                try await connection.query(
                    """
                    -- results.redrive
                    DELETE FROM results WHERE tenant_id = \(tenant) AND job_id = ANY (\(queued))
                    """
                )
            }
            return Set(queued)
        }
    }
}

extension Query {
    /// Stores the attempts that results tell of, where the results go; further conditions may follow.
    ///
    /// - Parameter source: The results, or a `WITH` part with their columns.
    fileprivate static func attempts(ofResults source: Query) -> Query {
        """
        INSERT INTO attempts (
            tenant_id, job_id, number, started_at, finished_at, state, error_name, status, transfers, decisions
        )
        SELECT tenant_id, job_id, attempt, started_at, finished_at, state, error_name, status, transfers, decisions
        FROM \(source)
        WHERE attempt IS NOT NULL
        """
    }
}
