package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    /// How many jobs of one limiter one statement lets through.
    private static let admissionLimit = 1000
    /// How long a limiter is left to who admits its jobs just now.
    private static let patience = Duration.milliseconds(20)

    package func limiters(of job: ClaimedJob) -> [Limiter.Address] {
        known.limiters(of: job.spec, tenant: job.tenant, after: job.tries)
    }

    package func admit(_ limiters: [Limiter.Address]) async throws(StoreError) -> Admission {
        try await StoreError.wrap {
            var (admission, failures) = (Admission(), [UpkeepFailure]())
            var calm: [Limiter.Address] = []
            _ = try await failures.goAround(limiters, blaming: .admission) { limiters in
                let (rows, busy) = try await genericPlan.transaction { connection in
                    // Two statements: the second sees the jobs that others have let through before this one had the
                    // limiters.
                    let busy = Set(try await connection.query(Self.lock(limiters)).map { try Limiter.Address(row: $0) })
                    let free = limiters.filter { !busy.contains($0) }
                    return (try await connection.query(Self.admission(to: free, client.isSharded)), busy)
                }
                for limiter in busy { admission.next[limiter] = Self.patience }
                for row in rows {
                    if let limiter = try admission.note(row, limit: Self.admissionLimit) { calm.append(limiter) }
                }
                return rows.count
            }
            admission.failures = failures
            if !calm.isEmpty { try await unsetCrowd(of: calm) }
            return admission
        }
    }

    /// Those of flows come before those of hosts, and in each kind those of one tenant after those of another.
    package func gatedLimiters(
        after last: Limiter.Address?, limit: Int
    ) async throws(StoreError) -> [Limiter.Address] {
        try await StoreError.wrap {
            var found: [Limiter.Address] = []
            if last?.kind != .host { found = try await gated(.flow, by: "flow", after: last, limit: limit) }
            if found.count < limit {
                let last = last?.kind == .host ? last : nil
                found += try await gated(.host, by: "host", after: last, limit: limit - found.count)
            }
            return found
        }
    }

    /// The limiters of a kind at whose gates jobs wait, one look into the index for each.
    ///
    /// - Parameter name: After which gates and columns are named.
    private func gated(
        _ kind: Limiter.Kind, by name: Query, after last: Limiter.Address?, limit: Int
    ) async throws -> [Limiter.Address] {
        let (tenant, key) = (last?.tenant ?? Tenant.ID(rawValue: .min), last?.key ?? "")
        return try await client.query(
            """
            -- limiters.gated
            WITH RECURSIVE gated AS (
                (
                    SELECT q.tenant_id, q.\(name) AS key
                    FROM queue q
                    WHERE q.gate = '\(name)' AND (q.tenant_id, q.\(name)) > (\(tenant), \(key))
                    ORDER BY q.tenant_id, q.\(name)
                    LIMIT 1
                )
                UNION ALL
                SELECT next.tenant_id, next.key
                FROM gated
                CROSS JOIN LATERAL (
                    SELECT q.tenant_id, q.\(name) AS key
                    FROM queue q
                    WHERE q.gate = '\(name)' AND (q.tenant_id, q.\(name)) > (gated.tenant_id, gated.key)
                    ORDER BY q.tenant_id, q.\(name)
                    LIMIT 1
                ) AS next
            )
            SELECT tenant_id, key FROM gated LIMIT \(limit)
            """
        ).map { Limiter.Address(tenant: try $0.decode(at: 0), kind: kind, key: try $0.decode(at: 1)) }
    }

    /// Locks limiters, and finds those that somebody else has locked: who admits jobs of one, or stands still while it
    /// does, holds up no other.
    private static func lock(_ limiters: [Limiter.Address]) -> Query {
        """
        -- limiters.lock
        WITH locked AS MATERIALIZED (
            SELECT l.tenant_id, l.kind, l.key
            FROM limiters l
            JOIN \(limiters.rows) ON l.tenant_id = asked.tenant_id AND l.kind = asked.kind AND l.key = asked.key
            FOR UPDATE OF l SKIP LOCKED
        )
        SELECT l.tenant_id, l.kind, l.key
        FROM limiters l
        JOIN \(limiters.rows) ON l.tenant_id = asked.tenant_id AND l.kind = asked.kind AND l.key = asked.key
        WHERE NOT EXISTS (
            SELECT FROM locked WHERE locked.tenant_id = l.tenant_id AND locked.kind = l.kind AND locked.key = l.key
        )
        """
    }

    private static func admission(to limiters: [Limiter.Address], _ isSharded: Bool) -> Query {
        """
        -- limiters.admit
        WITH limiter AS MATERIALIZED (
            SELECT asked.tenant_id, asked.kind, asked.key, coalesce(l.in_order, false) AS in_order,
                l.rate_jobs, l.rate_period, l.circuit_open_until, started.count AS started, started.first AS first_at,
                l.crowded_at,
                CASE
                    WHEN l.paused OR l.circuit_open_until > clock_timestamp() THEN 0
                    WHEN l.blocks AND EXISTS (
                        SELECT
                        FROM flow_blocks b
                        JOIN \(Query.failures(isSharded)) r ON r.tenant_id = b.tenant_id AND r.job_id = b.job_id
                        WHERE b.tenant_id = l.tenant_id AND b.flow = l.key AND r.state = 'failed'
                    ) THEN 0
                    ELSE greatest(0, least(
                        \(Int64(admissionLimit)),
                        least(
                            CASE WHEN l.in_order THEN 1 ELSE l.parallelism END,
                            -- What its client holds has its connection at most; nobody is to wait for that.
                            l.crowd + taken.held,
                            -- After a time of patience more are let through step by step.
                            CASE WHEN l.circuit_open_until IS NOT NULL THEN 1 << l.doublings END
                        ) - taken.places,
                        l.rate_jobs - started.count
                    ))
                END AS room
            FROM \(limiters.rows)
            LEFT JOIN limiters l ON l.tenant_id = asked.tenant_id AND l.kind = asked.kind AND l.key = asked.key
                AND l.removed_at IS NULL
            CROSS JOIN LATERAL (
                SELECT count(*) AS places, 0 AS held
                FROM queue q
                WHERE asked.kind = 'flow' AND q.tenant_id = asked.tenant_id AND q.flow = asked.key AND q.in_flow
                HAVING asked.kind = 'flow'
                UNION ALL
                SELECT count(*), count(*) FILTER (WHERE q.suspended)
                FROM queue q
                WHERE asked.kind = 'host' AND q.tenant_id = asked.tenant_id AND q.host = asked.key AND q.in_host
                HAVING asked.kind = 'host'
            ) AS taken
            CROSS JOIN LATERAL (
                SELECT count(*) AS count, min(s.started_at) AS first
                FROM limiter_starts s
                WHERE s.tenant_id = asked.tenant_id AND s.kind = asked.kind AND s.key = asked.key
                    AND s.started_at > clock_timestamp() - l.rate_period
            ) AS started
        ), in_order AS MATERIALIZED (
            SELECT limiter.kind, limiter.key, limiter.rate_jobs, next.tenant_id, next.job_id
            FROM limiter
            CROSS JOIN LATERAL (
                SELECT q.tenant_id, q.job_id
                FROM queue q
                WHERE limiter.kind = 'flow' AND limiter.in_order
                    AND q.tenant_id = limiter.tenant_id AND q.gate = 'flow' AND q.flow = limiter.key AND NOT q.suspended
                ORDER BY q.job_id
                LIMIT limiter.room
                -- One that somebody else looks at is waited for: it must not be overtaken.
                FOR UPDATE
            ) AS next
        ), \(Query.admitted(to: "flow")), \(Query.admitted(to: "host")), next AS MATERIALIZED (
            SELECT * FROM in_order UNION ALL SELECT * FROM of_flow UNION ALL SELECT * FROM of_host
        ), admitted AS (
            UPDATE queue q
            SET gate = NULL, in_flow = q.in_flow OR next.kind = 'flow', in_host = q.in_host OR next.kind = 'host'
            FROM next
            WHERE q.tenant_id = next.tenant_id AND q.job_id = next.job_id
        ), begun AS (
            INSERT INTO limiter_starts (tenant_id, kind, key, started_at, job_id)
            SELECT tenant_id, kind, key, clock_timestamp(), job_id
            FROM next
            WHERE rate_jobs IS NOT NULL
        ), outdated AS (
            DELETE FROM limiter_starts s
            USING limiter
            WHERE s.tenant_id = limiter.tenant_id AND s.kind = limiter.kind AND s.key = limiter.key
                AND (limiter.rate_period IS NULL OR s.started_at <= clock_timestamp() - limiter.rate_period)
        )
        SELECT limiter.tenant_id, limiter.kind, limiter.key, let_in.count,
            CASE
                WHEN limiter.circuit_open_until > clock_timestamp() THEN limiter.circuit_open_until - clock_timestamp()
                WHEN limiter.started + let_in.count >= limiter.rate_jobs
                    THEN coalesce(limiter.first_at, clock_timestamp()) + limiter.rate_period - clock_timestamp()
            END,
            -- How long it has been crowded for which nothing waits any more.
            CASE WHEN let_in.count < limiter.room THEN clock_timestamp() - limiter.crowded_at END
        FROM limiter
        CROSS JOIN LATERAL (
            SELECT count(*) AS count
            FROM next
            WHERE next.tenant_id = limiter.tenant_id AND next.kind = limiter.kind AND next.key = limiter.key
        ) AS let_in
        """
    }
}

extension Admission {
    /// Notes when one limiter has to be looked at next.
    ///
    /// - Returns: The limiter, when it was crowded and no job waits for it any more.
    fileprivate mutating func note(_ row: Row, limit: Int) throws -> Limiter.Address? {
        let count = try row.decode(Int64.self, at: 3)
        if count > 0 { hasQueuedJobs = true }
        let limiter = try Limiter.Address(row: row)
        if count >= limit {
            next[limiter] = .zero
        } else if let wait = try row.decode(Duration?.self, at: 4) {
            next[limiter] = max(wait, .zero)
        } else if let time = try row.decode(Duration?.self, at: 5) {
            if time > PostgresWorkQueue.calm { return limiter }
            next[limiter] = PostgresWorkQueue.calm
        }
        return nil
    }
}

extension Limiter.Address {
    /// Of the first three columns.
    fileprivate init(row: Row) throws {
        self.init(tenant: try row.decode(at: 0), kind: try row.decode(at: 1), key: try row.decode(at: 2))
    }
}

extension [Limiter.Address] {
    /// As rows named `asked`.
    fileprivate var rows: Query {
        "unnest(\(map(\.tenant)), \(map(\.kind)), \(map(\.key))) AS asked (tenant_id, kind, key)"
    }
}

extension Query {
    /// Those at the gates of limiters of a kind that go next, where no order is kept.
    fileprivate static func admitted(to kind: Query) -> Query {
        """
        of_\(kind) AS MATERIALIZED (
            SELECT limiter.kind, limiter.key, limiter.rate_jobs, next.tenant_id, next.job_id
            FROM limiter
            CROSS JOIN LATERAL (
                SELECT q.tenant_id, q.job_id
                FROM queue q
                WHERE limiter.kind = '\(kind)' AND NOT limiter.in_order
                    AND q.tenant_id = limiter.tenant_id AND q.gate = '\(kind)' AND q.\(kind) = limiter.key AND NOT q.suspended
                ORDER BY q.rank, q.run_at, q.job_id
                LIMIT limiter.room
                FOR UPDATE SKIP LOCKED
            ) AS next
        )
        """
    }
}
