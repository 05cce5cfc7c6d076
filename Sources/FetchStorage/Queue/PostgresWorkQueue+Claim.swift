package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    /// How many bytes of specs a claim reads, and those of one job of each tenant more: parsed, JSON takes many times as
    /// much memory.
    static let bytesOfClaim = 4 << 20

    package func claim(upTo limit: Int, room: ClaimRoom) async throws(StoreError) -> Claim {
        guard !known.isPaused else { return Claim(jobs: [], isLast: true) }
        return try await StoreError.wrap {
            var jobs: [ClaimedJob] = []
            var (bytes, left) = (0, [LeftJob]())
            var gated: Set<Limiter.Address> = []
            var scan = scan.begin(without: known.pausedTenants.union(awaySpecs.tenants()), room: room)
            repeat {
                let step = scan.next(limit - jobs.count)
                let rows = try await claim(step)
                let specs = try await specs(ofClaimed: rows)
                let read = try await read(rows, specs, ofEach: step.bytesOfTenant)
                jobs += read.jobs
                bytes += read.bytes
                left = read.left
                try await end(read.unreadable)
                try await giveBack(left)
                for row in rows { if let limiter = try Limiter.Address(gateOf: row) { gated.insert(limiter) } }
                try scan.took(rows)
                // The jobs found so far do not wait until all others have been put to their gates.
            } while jobs.count < limit && bytes < Self.bytesOfClaim && left.isEmpty && !scan.isOver
                && (gated.isEmpty || jobs.isEmpty)
            self.scan.end(scan)
            // It has stepped over them.
            if let time = left.map(\.runAt).min() { self.scan.noteLate(from: time) }
            return Claim(
                jobs: jobs, isLast: scan.isOver && jobs.count < limit && left.isEmpty, gated: gated,
                nextScan: scan.nextScan, full: scan.full)
        }
    }

    /// Claims the jobs that each share allows, and looks for tenants that are not known to wait.
    ///
    /// When none is known, the first that is found has the whole claim.
    private func claim(_ step: ClaimScan.Step) async throws -> Rows {
        let tenants = WaitingTenants(in: step.gaps, without: step.cursor)
        let isSharded = client.isSharded
        return try await genericPlan.query(
            """
            -- queue.claim
            WITH RECURSIVE \(Query.cursor(step.cursor)), found AS (
                \(tenants.first)
                UNION ALL
                SELECT next.tenant_id, found.before
                FROM found
                CROSS JOIN LATERAL (\(Query.waitingTenant("found.tenant_id", "found.before"))) AS next
            ), others AS MATERIALIZED (
                \(tenants.known)
                UNION ALL
                (SELECT tenant_id FROM found LIMIT 100)
            ), share AS MATERIALIZED (
                SELECT *
                FROM unnest(\(step.shares.map(\.tenant)), \(step.shares.map { Int64($0.count) }))
                    AS share (tenant_id, count)
                UNION ALL
                (
                    SELECT tenant_id, least(
                        \(Int64(step.limit)), coalesce(room.count, \(Int64(clamping: step.room.ofOthers)))
                    )
                    FROM others
                    LEFT JOIN unnest(
                        \(Array(step.room.ofTenants.keys)), \(step.room.ofTenants.values.map { Int64($0) })
                    ) AS room (tenant_id, count) USING (tenant_id)
                    WHERE \(step.shares.isEmpty) AND tenant_id <> ALL (\(Array(step.paused)))
                    ORDER BY tenant_id
                    LIMIT 1
                )
            ), due AS MATERIALIZED (
                SELECT next.*
                FROM share
                CROSS JOIN LATERAL (
                    \(Query.waiting(
                        "q.ctid AS row_id, q.tenant_id, q.job_id, q.flow, q.host, q.in_flow, q.in_host",
                        of: "share.tenant_id", limit: "share.count", locking: "FOR UPDATE SKIP LOCKED"))
                ) AS next
            ), looked AS MATERIALIZED (
                SELECT clock_timestamp() - statement_timestamp() AS duration FROM (SELECT count(*) FROM due) AS counted
            ), \(known.exist ? Query.claimingUnlessGated(at: node, isSharded) : Query.claiming(at: node))
            SELECT \(Query.claimedColumns(
                isRead: Query.isRead(within: step.bytesOfTenant),
                weight: "(SELECT o.weight FROM tenants o WHERE o.id = c.tenant_id)", waiting: "other.tenant_ids")),
                other.duration
            FROM (SELECT ARRAY(SELECT tenant_id FROM others) AS tenant_ids, duration FROM looked) AS other
            LEFT JOIN (
                claimed c
                -- Each by its key: left to choose, the planner reads all jobs of the tenant for every one of them.
                CROSS JOIN LATERAL (
                    SELECT j.spec, j.sealed_secrets,
                        CASE
                            WHEN c.gate IS NULL
                                THEN octet_length(j.spec::text) + coalesce(octet_length(j.sealed_secrets), 0)
                        END AS bytes
                    FROM \(Query.specsOfClaimed(isSharded)) j
                    WHERE j.tenant_id = c.tenant_id AND j.id = c.job_id
                    OFFSET 0
                ) AS j
            ) ON true
            LEFT JOIN LATERAL (
                SELECT t.credentials_version
                FROM session_stores t
                WHERE t.tenant_id = c.tenant_id AND t.session_id = \(TenantSession.ID.default)
                OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL (
                SELECT s.cookies_version, s.cache_version, s.answers_version
                FROM session_stores s
                WHERE s.tenant_id = c.tenant_id
                    AND s.session_id = coalesce(c.session_id, \(TenantSession.ID.default))
                OFFSET 0
            ) AS s ON true
            ORDER BY c.rank, c.run_at, c.job_id
            """
        )
    }
}

extension ClaimScan.Step {
    /// How many bytes of specs are read of each tenant, so that the large jobs of one keep those of no other back.
    fileprivate var bytesOfTenant: Int { PostgresWorkQueue.bytesOfClaim / max(1, shares.count) }
}

extension Query {
    /// The columns of a claimed row `c`, its job `j`, its session's stores `s` and the default session's `t`.
    ///
    /// - Parameters:
    ///   - isRead: Whether the job is to be read.
    ///   - weight: The weight of the tenant.
    ///   - waiting: The ids of tenants that wait too.
    static func claimedColumns(isRead: Query = "true", weight: Query, waiting: Query) -> Query {
        """
        c.job_id, c.tenant_id, CASE WHEN \(isRead) THEN j.spec END, c.claim, c.rank, c.run_at,
        coalesce(s.cookies_version, 0), coalesce(t.credentials_version, 0),
        CASE WHEN \(isRead) THEN j.sealed_secrets END, c.tries, c.expires_at, coalesce(s.cache_version, 0),
        \(weight), \(waiting), c.gate, CASE c.gate WHEN 'flow' THEN c.flow WHEN 'host' THEN c.host END, c.in_host,
        clock_timestamp() - c.run_at, coalesce(s.answers_version, 0), c.resumes_at, c.endpoint_id
        """
    }

    /// Whether the specs of the same tenant before that of a job have fewer bytes.
    fileprivate static func isRead(within bytes: Int) -> Query {
        """
        sum(j.bytes) OVER (PARTITION BY c.tenant_id ORDER BY c.rank, c.run_at, c.job_id) - j.bytes < \(Int64(bytes))
        """
    }

    /// Where a claim finds the specs of its jobs `c`: nowhere, when a look of its own reads them.
    fileprivate static func specsOfClaimed(_ isSharded: Bool) -> Query {
        isSharded
            ? "(SELECT c.tenant_id, c.job_id AS id, NULL::json AS spec, NULL::bytea AS sealed_secrets)" : "jobs"
    }

    /// The limiter of a kind, quoted, that a due job is in.
    fileprivate static func limiter(_ kind: Query, _ key: Query) -> Query {
        """
        SELECT l.paused, l.is_limited, l.circuit_open_until, l.crowd
        FROM limiters l
        WHERE l.tenant_id = due.tenant_id AND l.kind = \(kind) AND l.key = \(key)
        OFFSET 0
        """
    }

    /// Claims due jobs; a row that moves meanwhile waits on, and whoever has moved it calls for the next claim.
    fileprivate static func claiming(at node: Node.ID) -> Query {
        """
        claimed AS (
            UPDATE queue q
            SET node_id = \(node), claim = q.claim + 1, claimed_at = now()
            -- By their places, which are locked: nobody can tell the planner how few they are, and joined with them
            -- it would read all that waits.
            WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM due))
            RETURNING q.tenant_id, q.job_id, q.claim, q.rank, q.run_at, q.session_id, q.tries, q.expires_at, q.gate,
                q.flow, q.host, q.in_host, q.resumes_at, q.endpoint_id
        )
        """
    }

    /// Claims due jobs, except those that a limiter has to let through: they go to its gate.
    static func claimingUnlessGated(at node: Node.ID, _ isSharded: Bool) -> Query {
        // Over several servers every row of the queue has its host.
        let host: Query =
            isSharded
            ? "SELECT due.host"
            : """
            SELECT coalesce(due.host, j.host) AS host
            FROM jobs j
            WHERE j.tenant_id = due.tenant_id AND j.id = due.job_id
            OFFSET 0
            """
        return """
            judged AS MATERIALIZED (
                SELECT due.tenant_id, due.job_id, j.host,
                    CASE
                        WHEN flow.paused OR flow.is_limited AND NOT due.in_flow THEN 'flow'
                        WHEN host.paused OR host.circuit_open_until > now()
                            OR (host.is_limited OR host.circuit_open_until IS NOT NULL OR host.crowd IS NOT NULL)
                                AND NOT due.in_host THEN 'host'
                    END AS gate
                FROM due
                CROSS JOIN LATERAL (
                    \(host)
                ) AS j
                LEFT JOIN LATERAL (\(limiter("'flow'", "due.flow"))) AS flow ON true
                LEFT JOIN LATERAL (\(limiter("'host'", "j.host"))) AS host ON true
            ), claimed AS (
                UPDATE queue q
                SET node_id = CASE WHEN judged.gate IS NULL THEN \(node) END,
                    claim = CASE WHEN judged.gate IS NULL THEN q.claim + 1 ELSE q.claim END,
                    claimed_at = CASE WHEN judged.gate IS NULL THEN now() END,
                    gate = judged.gate,
                    host = CASE WHEN judged.gate = 'host' THEN judged.host ELSE q.host END,
                    in_flow = q.in_flow AND judged.gate IS DISTINCT FROM 'flow',
                    in_host = q.in_host AND judged.gate IS DISTINCT FROM 'host'
                FROM judged
                WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM due))
                    AND q.tenant_id = judged.tenant_id AND q.job_id = judged.job_id
                RETURNING q.tenant_id, q.job_id, q.claim, q.rank, q.run_at, q.session_id, q.tries, q.expires_at, q.gate,
                    q.flow, q.host, q.in_host, q.resumes_at, q.endpoint_id
            )
            """
    }
}

extension Limiter.Address {
    /// Where the job of a row has to wait; nil when it was claimed.
    init?(gateOf row: Row) throws {
        guard let kind = try row.decode(Limiter.Kind?.self, at: 14) else { return nil }
        self.init(tenant: try row.decode(at: 1), kind: kind, key: try row.decode(at: 15))
    }
}
