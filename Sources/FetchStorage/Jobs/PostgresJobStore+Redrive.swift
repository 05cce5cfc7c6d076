package import FetchJobs
import Postgres

extension PostgresJobStore {
    package func redrive(_ jobs: [NewJob]) async throws(StoreError) -> Set<Job.ID> {
        guard let tenant = jobs.first?.tenant else { return [] }
        let redriven = try await StoreError.wrap {
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
                    RETURNING t.*, \(Query.keptBytes("r")) AS kept_bytes
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
                    (
                        SELECT coalesce(max(a.number), 0)
                        FROM attempts a
                        WHERE a.tenant_id = r.tenant_id AND a.job_id = r.job_id
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
}
