import FetchEngine
package import FetchJobs
import Postgres

extension PostgresJobStore {
    package func setSuspended(_ ids: [Job.ID], of tenant: Tenant.ID, _ isSuspended: Bool) async throws(StoreError) {
        let jobs = try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- jobs.suspend
                WITH target AS MATERIALIZED (
                    SELECT q.tenant_id, q.job_id
                    FROM unnest(\(ids)) AS asked (job_id)
                    JOIN queue q ON q.tenant_id = \(tenant) AND q.job_id = asked.job_id
                    WHERE q.suspended <> \(isSuspended)
                    -- In one order, so that two of these cannot wait for each other.
                    ORDER BY q.job_id
                    FOR UPDATE OF q
                ), suspended AS (
                    UPDATE queue q
                    SET suspended = \(isSuspended)
                    FROM target t
                    WHERE q.tenant_id = t.tenant_id AND q.job_id = t.job_id
                    RETURNING q.job_id, q.node_id IS NOT NULL AS runs
                ), \(Query.audited(
                    isSuspended ? .suspendJobs : .resumeJobs, ids.count == 1 ? ids.first?.description : nil,
                    of: tenant, details: .ids(ids), when: "suspended"))
                SELECT job_id, runs FROM suspended
                """
            )
            return try rows.map { (id: try $0.decode(Job.ID.self, at: 0), runs: try $0.decode(Bool.self, at: 1)) }
        }
        let running = jobs.filter(\.runs).map(\.id)
        intake?.setSuspended(running, isSuspended)
        if !running.isEmpty { announce(.look) }
        if !isSuspended, running.count < jobs.count {
            callWorkers()
            openGates()
        }
    }

    package func order(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> [Job.ID] {
        guard !ids.isEmpty else { return [] }
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- jobs.order
                SELECT q.job_id
                FROM unnest(\(ids)) AS asked (job_id)
                JOIN queue q ON q.tenant_id = \(tenant) AND q.job_id = asked.job_id
                WHERE q.node_id IS NULL AND NOT q.scheduled
                ORDER BY q.rank, q.run_at, q.job_id
                """
            )
            return try rows.map { try $0.decode(Job.ID.self, at: 0) }
        }
    }

    package func reorder(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) {
        try await StoreError.wrap {
            _ = try await client.of(tenant).query(
                """
                -- jobs.reorder
                WITH held AS MATERIALIZED (
                    SELECT q.job_id, q.rank, q.run_at, asked.number
                    FROM unnest(\(ids)) WITH ORDINALITY AS asked (job_id, number)
                    JOIN queue q ON q.tenant_id = \(tenant) AND q.job_id = asked.job_id
                    WHERE q.node_id IS NULL AND NOT q.scheduled
                    -- In one order, so that two of these cannot wait for each other.
                    ORDER BY q.job_id
                    FOR UPDATE OF q
                ), place AS (
                    SELECT rank, run_at, row_number() OVER (ORDER BY rank, run_at, job_id) AS number FROM held
                ), apart AS (
                    -- No two at the same time: there the ids would decide.
                    SELECT rank, number,
                        max(run_at - number * interval '1 microsecond') OVER (PARTITION BY rank ORDER BY number)
                            + number * interval '1 microsecond' AS run_at
                    FROM place
                ), wanted AS (
                    SELECT job_id, row_number() OVER (ORDER BY number) AS number FROM held
                )
                UPDATE queue q
                SET rank = apart.rank, run_at = apart.run_at
                FROM wanted
                JOIN apart ON apart.number = wanted.number
                WHERE q.tenant_id = \(tenant) AND q.job_id = wanted.job_id
                    AND (q.rank, q.run_at) IS DISTINCT FROM (apart.rank, apart.run_at)
                """
            )
        }
        // Some may be in front of what nodes have claimed last.
        callWorkers()
    }

    package func change(
        _ id: Job.ID,
        of tenant: Tenant.ID,
        from old: RawJSON,
        to spec: JobSpec,
        _ change: JobChange
    ) async throws(StoreError) -> Bool {
        let changed = try await StoreError.wrap {
            // Of a job that an earlier release has stored in clear.
            let secrets = try await NewJob(id: id, tenant: tenant, spec: spec).sealed(keys)
            let labels = spec.labels.map { "\(tenant):\($0.name):\($0.value)" }
            let changing: Query =
                client.isSharded
                ? "SELECT \(tenant) AS tenant_id, \(id) AS id"
                : """
                UPDATE jobs
                SET spec = new.spec, host = coalesce(\(change.urls?.first?.hostAndPort), host),
                    labels = \(Query.labels(of: "new.spec", tenant: "jobs.tenant_id")),
                    sealed_secrets = coalesce(\(secrets), sealed_secrets)
                FROM (SELECT \(RawJSON(spec.json)) AS spec) AS new
                WHERE tenant_id = \(tenant) AND id = \(id) AND jobs.spec::text = \(old)::text
                RETURNING tenant_id, id
                """
            let statement: Query = """
                -- jobs.change
                WITH changed AS (
                    \(changing)
                ), queued AS (
                    UPDATE queue q
                    SET rank = \(spec.rank),
                        run_at = CASE
                            WHEN \(change.runAt == nil) OR q.node_id IS NOT NULL OR q.question_id IS NOT NULL
                                THEN q.run_at
                            ELSE greatest(\(spec.runAt), now())
                        END,
                        scheduled = CASE
                            WHEN \(change.runAt == nil) OR q.node_id IS NOT NULL OR q.question_id IS NOT NULL
                                THEN q.scheduled
                            ELSE coalesce(\(spec.runAt) > now(), false)
                        END,
                        -- A time that the client tells afterwards is meant.
                        discretionary = q.discretionary AND \(change.runAt == nil),
                        -- One that waits for a time is not at a gate; the next claim finds out again.
                        gate = CASE WHEN \(change.runAt == nil && change.urls == nil) THEN q.gate END,
                        -- Of the URL whose turn it is.
                        host = CASE
                            WHEN \(change.urls == nil) OR q.node_id IS NOT NULL THEN q.host
                            ELSE (\(change.urls?.map { $0.hostAndPort ?? "" } ?? []))[
                                1 + q.tries % \(Int32(max(1, change.urls?.count ?? 1)))
                            ]
                        END,
                        in_host = q.in_host AND (\(change.urls == nil) OR q.node_id IS NOT NULL),
                        -- Whether it runs or is being claimed just now: the node that has it reads what is stored.
                        is_changed = true
                    FROM changed c
                    WHERE q.tenant_id = c.tenant_id AND q.job_id = c.id
                    RETURNING q.node_id IS NULL AND NOT q.scheduled AS is_due,
                        CASE WHEN q.scheduled THEN q.run_at - now() END AS wait, q.node_id IS NOT NULL AS runs
                )
                SELECT queued.is_due, queued.wait, queued.runs FROM changed LEFT JOIN queued ON true
                """
            let rows =
                if client.isSharded {
                    // The job itself first, on its server.
                    try await client.ofJobs(of: tenant).transaction { connection in
                        let changed = try await connection.query(
                            """
                            -- jobs.changeSpec
                            UPDATE jobs
                            SET spec = \(RawJSON(spec.json)), host = coalesce(\(change.urls?.first?.hostAndPort), host),
                                labels = \(labels.isEmpty ? nil : labels),
                                sealed_secrets = coalesce(\(secrets), sealed_secrets)
                            WHERE tenant_id = \(tenant) AND id = \(id) AND spec::text = \(old)::text
                            RETURNING id
                            """
                        )
                        guard !changed.isEmpty else { return changed }
                        try await connection.commitInTwoPhases()
                        return try await connection.query(statement)
                    }
                } else { try await client.of(tenant).query(statement) }
            return try rows.first.map { row in
                (
                    isDue: try row.decode(Bool?.self, at: 0), wait: try row.decode(Duration?.self, at: 1),
                    runs: try row.decode(Bool?.self, at: 2)
                )
            }
        }
        guard let changed else { return false }
        if changed.isDue == true { callWorkers() }
        if let wait = changed.wait { intake?.wake(after: wait) }
        if changed.runs == true, change.changesPace {
            intake?.setPace(spec.pace, of: id)
            announce(.look)
        }
        return true
    }

    package func remove(_ ids: [Job.ID], of tenant: Tenant.ID) async throws(StoreError) -> Set<Job.ID> {
        defer { openGates() }
        return try await StoreError.wrap {
            if client.isSharded { return try await removeOnShards(ids, of: tenant) }
            let rows = try await client.of(tenant).query(
                """
                -- jobs.remove
                WITH target AS MATERIALIZED (
                    SELECT r.tenant_id, r.job_id
                    FROM unnest(\(ids)) AS asked (job_id)
                    JOIN results r ON r.tenant_id = \(tenant) AND r.job_id = asked.job_id
                    ORDER BY r.job_id
                    FOR UPDATE OF r
                ), \(Query.audited(
                    .removeJobs, ids.count == 1 ? ids.first?.description : nil, of: tenant, details: .ids(ids),
                    when: "target")), \(Query.removing(at: node))
                """
            )
            return Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        }
    }
}

extension PostgresJobStore {
    /// The same where what there is of the jobs is on other servers than what else is stored of them.
    private func removeOnShards(_ ids: [Job.ID], of tenant: Tenant.ID) async throws -> Set<Job.ID> {
        try await client.transaction { [node] connection in
            let found = try await connection.query(
                """
                -- results.lock
                SELECT job_id
                FROM results
                WHERE tenant_id = \(tenant) AND job_id = ANY (\(ids))
                ORDER BY job_id
                FOR UPDATE
                """
            ).map { try $0.decode(Job.ID.self, at: 0) }
            guard !found.isEmpty else { return [] }
            try await connection.query(
                """
                -- jobs.removed
                WITH target AS (
                    SELECT id FROM unnest(\(found)) AS target (id)
                ), \(Query.audited(
                    .removeJobs, ids.count == 1 ? ids.first?.description : nil, of: tenant, details: .ids(ids),
                    when: "target"))
                SELECT FROM target
                """
            )
            try await connection.removeOnShards(found, of: tenant, at: node)
            return Set(found)
        }
    }
}

extension Connection {
    /// Removes jobs of a tenant that are locked, with all that there is of them, from the server that has them and from
    /// the coordinator.
    func removeOnShards(_ jobs: [Job.ID], of tenant: Tenant.ID, at node: Node.ID) async throws {
        let bytes = try await query(
            """
            -- results.remove
            DELETE FROM results r
            WHERE r.tenant_id = \(tenant) AND r.job_id = ANY (\(jobs))
            RETURNING \(Query.keptBytes("r"))
            """
        ).compactMap { try $0.decode(Int64?.self, at: 0) }
        try await query(
            "-- attempts.remove\nDELETE FROM attempts WHERE tenant_id = \(tenant) AND job_id = ANY (\(jobs))")
        try await commitInTwoPhases()
        try await query("-- jobs.remove\nDELETE FROM jobs WHERE tenant_id = \(tenant) AND id = ANY (\(jobs))")
        try await query(
            """
            -- jobs.forget
            WITH result AS (
                SELECT \(tenant) AS tenant_id, kept_bytes FROM unnest(\(bytes)) AS result (kept_bytes)
            ), \(Query.keeping("result", at: node, bytes: "-kept_bytes")), unblocked AS (
                -- Elsewhere a flow goes on because the result of its job is gone.
                DELETE FROM flow_blocks WHERE tenant_id = \(tenant) AND job_id = ANY (\(jobs))
            )
            DELETE FROM questions WHERE tenant_id = \(tenant) AND job_id = ANY (\(jobs))
            """
        )
    }
}

extension Query {
    /// Removes jobs with all that there is of them, and returns their ids; bytes in the blob store go as orphans.
    ///
    /// Goes behind a `WITH` part named `target`, which has the columns `tenant_id` and `job_id`.
    static func removing(at node: Node.ID) -> Query {
        """
        result AS (
            DELETE FROM results r
            USING target t
            WHERE r.tenant_id = t.tenant_id AND r.job_id = t.job_id
            RETURNING r.tenant_id, \(Query.keptBytes("r")) AS kept_bytes
        ), \(Query.keeping("result", at: node, bytes: "-kept_bytes")), attempt AS (
            DELETE FROM attempts a USING target t WHERE a.tenant_id = t.tenant_id AND a.job_id = t.job_id
        ), question AS (
            DELETE FROM questions a USING target t WHERE a.tenant_id = t.tenant_id AND a.job_id = t.job_id
        )
        DELETE FROM jobs j
        USING target t
        WHERE j.tenant_id = t.tenant_id AND j.id = t.job_id
        RETURNING j.id
        """
    }
}
