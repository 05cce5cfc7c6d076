package import FetchJobs
package import Postgres

/// The limiters in PostgreSQL.
///
/// Every change raises the version that tells nodes to read again. The jobs at present are counted where they are asked
/// for: those that wait, up to a bound, and those that run, of which there are never many.
package struct PostgresLimiterStore: LimiterStore {
    /// Up to how many waiting jobs are counted.
    private static let countLimit = 100_000

    private let client: Client
    private let known: KnownLimiters
    private let quotas: TenantQuota?
    private let intake: (any Intake)?
    private let announce: @Sendable () -> Void

    /// - Parameters:
    ///   - known: The limiters as this node knows them, to be brought up to date with each change.
    ///   - quotas: How many jobs may wait; nil for as many as come.
    ///   - intake: The worker in this process, when there is one.
    ///   - announce: Tells other nodes that there is something to do.
    package init(
        client: Client,
        known: KnownLimiters,
        quotas: TenantQuota? = nil,
        intake: (any Intake)?,
        announce: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.known = known
        self.quotas = quotas
        self.intake = intake
        self.announce = announce
    }

    // MARK: Reading

    package func limiters(
        of tenant: Tenant.ID, _ kind: Limiter.Kind, after key: String, limit: Int
    ) async throws(StoreError) -> [Limiter] {
        let page: Query = "l.key > \(key) ORDER BY l.key LIMIT \(limit)"
        return try await limiters(of: tenant, kind, page)
    }

    package func limiter(_ address: Limiter.Address) async throws(StoreError) -> Limiter? {
        try await limiters(of: address.tenant, address.kind, "l.key = \(address.key)").first
    }

    private func limiters(of tenant: Tenant.ID, _ kind: Limiter.Kind, _ page: Query) async throws(StoreError)
        -> [Limiter]
    {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- limiters.find
                WITH running AS MATERIALIZED (
                    SELECT CASE WHEN \(kind == .flow) THEN q.flow ELSE j.host END AS key, count(*) AS count
                    FROM queue q
                    JOIN \(Query.hosts(of: tenant, client.isSharded)) j ON j.tenant_id = q.tenant_id AND j.id = q.job_id
                    WHERE q.tenant_id = \(tenant) AND q.node_id IS NOT NULL
                    GROUP BY 1
                )
                SELECT l.key, l.paused, l.parallelism, l.rate_jobs, l.rate_period, l.in_order, l.blocks,
                    l.circuit_open_until, l.circuit_reason, l.bytes_per_second,
                    (
                        SELECT count(*)
                        FROM (
                            SELECT
                            FROM queue q
                            WHERE q.tenant_id = l.tenant_id AND l.kind = 'flow' AND q.gate = 'flow' AND q.flow = l.key
                            LIMIT \(Self.countLimit)
                        ) AS at_flow
                    ) + (
                        SELECT count(*)
                        FROM (
                            SELECT
                            FROM queue q
                            WHERE q.tenant_id = l.tenant_id AND l.kind = 'host' AND q.gate = 'host' AND q.host = l.key
                            LIMIT \(Self.countLimit)
                        ) AS at_host
                    ),
                    coalesce(running.count, 0),
                    (
                        SELECT b.job_id
                        FROM flow_blocks b
                        JOIN \(Query.failures(client.isSharded)) r ON r.tenant_id = b.tenant_id AND r.job_id = b.job_id
                        WHERE b.tenant_id = l.tenant_id AND l.kind = 'flow' AND b.flow = l.key AND r.state = 'failed'
                        ORDER BY b.job_id
                        LIMIT 1
                    ),
                    l.created_at, l.updated_at, l.parallelism_pinned, l.rate_pinned, period.started, period.began
                FROM limiters l
                LEFT JOIN running ON running.key = l.key
                CROSS JOIN LATERAL (
                    SELECT count(*) AS started, min(s.started_at) AS began
                    FROM limiter_starts s
                    WHERE s.tenant_id = l.tenant_id AND s.kind = l.kind AND s.key = l.key
                        AND s.started_at > clock_timestamp() - l.rate_period
                ) AS period
                WHERE l.tenant_id = \(tenant) AND l.kind = \(kind) AND l.removed_at IS NULL AND \(page)
                """
            )
            return try rows.map { try Limiter(row: $0, tenant: tenant, kind: kind) }
        }
    }

    // MARK: Changing

    package func set(
        _ limits: SharedLimits, of limiter: Limiter.Address, keepsPinned: Bool
    ) async throws(StoreError) {
        try await change(
            limiter,
            """
            -- limiters.set
            WITH \(Query.newVersion), running AS (
                -- What runs already has its place.
                UPDATE queue q
                SET host = CASE WHEN \(limiter.kind == .host) THEN j.host ELSE q.host END,
                    in_host = q.in_host OR \(limiter.kind == .host), in_flow = q.in_flow OR \(limiter.kind == .flow)
                FROM \(Query.hosts(of: limiter.tenant, client.isSharded)) j
                WHERE q.tenant_id = \(limiter.tenant) AND q.node_id IS NOT NULL
                    AND j.tenant_id = q.tenant_id AND j.id = q.job_id
                    AND CASE WHEN \(limiter.kind == .host) THEN j.host = \(limiter.key) ELSE q.flow = \(limiter.key) END
            ), \(Query.audited(.setLimiter, limiter, when: "changed"))
            INSERT INTO limiters (
                tenant_id, kind, key, parallelism, rate_jobs, rate_period, in_order, blocks, bytes_per_second,
                parallelism_pinned, rate_pinned, version
            )
            SELECT \(limiter.tenant), \(limiter.kind), \(limiter.key), \(limits.parallelism.map { Int32($0) }),
                \(limits.rate.map { Int32($0.jobs) }), \(limits.rate?.period), \(limits.order == .fifo),
                \(limits.onFailure == .block), \(limits.maximumBytesPerSecond),
                \(limits.pinned.contains(.parallelism)), \(limits.pinned.contains(.rate)), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET \(Query.kept("parallelism", "parallelism_pinned", keepsPinned)), \(Query.kept("in_order", "parallelism_pinned", keepsPinned)),
                \(Query.kept("blocks", "parallelism_pinned", keepsPinned)), \(Query.kept("rate_jobs", "rate_pinned", keepsPinned)),
                \(Query.kept("rate_period", "rate_pinned", keepsPinned)),
                parallelism_pinned = excluded.parallelism_pinned OR \(keepsPinned) AND limiters.parallelism_pinned,
                rate_pinned = excluded.rate_pinned OR \(keepsPinned) AND limiters.rate_pinned,
                bytes_per_second = excluded.bytes_per_second, removed_at = NULL, version = excluded.version,
                created_at = CASE WHEN limiters.removed_at IS NULL THEN limiters.created_at ELSE now() END,
                updated_at = now()
            """)
    }

    package func setPaused(_ isPaused: Bool, _ limiter: Limiter.Address) async throws(StoreError) {
        try await change(
            limiter,
            """
            -- limiters.pause
            WITH \(Query.newVersion), \(Query.audited(
                isPaused ? .pauseLimiter : .resumeLimiter, limiter, when: "changed"))
            INSERT INTO limiters (tenant_id, kind, key, paused, version)
            SELECT \(limiter.tenant), \(limiter.kind), \(limiter.key), \(isPaused), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET paused = excluded.paused, removed_at = NULL, version = excluded.version,
                created_at = CASE WHEN limiters.removed_at IS NULL THEN limiters.created_at ELSE now() END,
                updated_at = now(),
                -- Who resumes it knows better than its origin did.
                circuit_open_until = CASE WHEN excluded.paused THEN limiters.circuit_open_until END,
                circuit_reason = CASE WHEN excluded.paused THEN limiters.circuit_reason END,
                refusals = CASE WHEN excluded.paused THEN limiters.refusals ELSE 0 END,
                doublings = CASE WHEN excluded.paused THEN limiters.doublings ELSE 0 END
            """)
    }

    package func remove(_ limiter: Limiter.Address) async throws(StoreError) -> Bool {
        try await change(
            limiter,
            """
            -- limiters.remove
            WITH \(Query.newVersion), removed AS (
            UPDATE limiters l
            SET paused = false, parallelism = NULL, rate_jobs = NULL, rate_period = NULL, in_order = false,
                blocks = false, bytes_per_second = NULL, parallelism_pinned = false, rate_pinned = false,
                circuit_open_until = NULL, circuit_reason = NULL, refusals = 0, doublings = 0, crowd = NULL,
                crowded_at = NULL, removed_at = now(), version = changed.version
            FROM changed
            WHERE l.tenant_id = \(limiter.tenant) AND l.kind = \(limiter.kind) AND l.key = \(limiter.key)
                AND l.removed_at IS NULL
            RETURNING l.key
            ), \(Query.audited(.removeLimiter, limiter, when: "removed"))
            SELECT 1 FROM removed
            """) > 0
    }

    package func skip(_ limiter: Limiter.Address) async throws(StoreError) {
        try await change(
            limiter,
            """
            -- limiters.skip
            WITH skipped AS (
                DELETE FROM flow_blocks WHERE tenant_id = \(limiter.tenant) AND flow = \(limiter.key) RETURNING flow
            ), \(Query.audited(.skipBlock, limiter, when: "skipped"))
            SELECT 1 FROM skipped
            """)
    }

    package func resetRate(of limiter: Limiter.Address) async throws(StoreError) {
        try await change(
            limiter,
            """
            -- limiters.resetRate
            WITH forgotten AS (
                DELETE FROM limiter_starts
                WHERE tenant_id = \(limiter.tenant) AND kind = \(limiter.kind) AND key = \(limiter.key)
                RETURNING job_id
            ), reset AS (
                SELECT FROM forgotten LIMIT 1
            ), \(Query.audited(.resetRate, limiter, when: "reset"))
            SELECT 1 FROM reset
            """)
    }

    // MARK: The whole queue

    package func queue(of tenant: Tenant.ID) async throws(StoreError) -> TenantQueue {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- queue.find
                SELECT t.paused, s.paused, t.bytes_per_second,
                    (SELECT count(*) FROM queue q WHERE q.tenant_id = t.id AND q.node_id IS NOT NULL),
                    (
                        SELECT count(*)
                        FROM (
                            SELECT
                            FROM queue q
                            WHERE q.tenant_id = t.id AND q.node_id IS NULL
                            ORDER BY q.job_id
                            LIMIT \(Self.countLimit)
                        ) AS job
                    )
                FROM tenants t, queue_state s
                WHERE t.id = \(tenant)
                """
            )
            var queue = TenantQueue()
            guard let row = rows.first else { return queue }
            queue.isPaused = try row.decode(at: 0)
            queue.isServicePaused = try row.decode(at: 1)
            queue.maximumBytesPerSecond = try row.decode(at: 2)
            queue.running = try row.decode(at: 3)
            queue.waiting = try row.decode(at: 4)
            queue.maximumWaitingJobs = quotas?.quota(of: tenant)
            return queue
        }
    }

    package func setPaused(_ isPaused: Bool, of tenant: Tenant.ID) async throws(StoreError) {
        try await change(
            nil,
            """
            -- queue.pauseTenant
            WITH \(Query.newVersion), \(Query.audited(
                isPaused ? .pauseQueue : .resumeQueue, of: tenant, when: "changed"))
            UPDATE tenants SET paused = \(isPaused) WHERE id = \(tenant)
            """)
        intake?.wake()
    }

    /// Runs a change, and tells all nodes to apply it.
    ///
    /// - Parameter limiter: The one that it is of; nil for all.
    /// - Returns: How many rows it changed.
    @discardableResult
    private func change(_ limiter: Limiter.Address?, _ query: Query) async throws(StoreError) -> Int {
        let count = try await StoreError.wrap { try await client.query(query).affected }
        try await known.refresh()
        announce()
        intake?.admit(limiter.map { [$0] })
        return count
    }
}

extension Query {
    /// An entry of the audit log about a limiter.
    fileprivate static func audited(_ action: AuditAction, _ limiter: Limiter.Address, when done: Query) -> Query {
        audited(action, "\(limiter.kind.rawValue):\(limiter.key)", of: limiter.tenant, when: done)
    }

    /// The value of a column that is set, or the one that is there where it is pinned and that counts.
    fileprivate static func kept(_ column: Query, _ pin: Query, _ keepsPinned: Bool) -> Query {
        "\(column) = CASE WHEN \(keepsPinned) AND limiters.\(pin) THEN limiters.\(column) ELSE excluded.\(column) END"
    }

    /// A version for all nodes to read again, as `changed`; goes behind a `WITH`.
    static var newVersion: Query {
        "changed AS (UPDATE queue_state SET version = version + 1 RETURNING version)"
    }
}

extension Limiter {
    fileprivate init(row: Row, tenant: Tenant.ID, kind: Kind) throws {
        self.init(address: Address(tenant: tenant, kind: kind, key: try row.decode(at: 0)))
        isPaused = try row.decode(at: 1)
        limits.parallelism = try row.decode(Int32?.self, at: 2).map { Int($0) }
        if let jobs = try row.decode(Int32?.self, at: 3) {
            limits.rate = SharedLimits.Rate(jobs: Int(jobs), period: try row.decode(at: 4))
        }
        limits.order = try row.decode(Bool.self, at: 5) ? .fifo : .any
        limits.onFailure = try row.decode(Bool.self, at: 6) ? .block : .skip
        if let until = try row.decode(Timestamp?.self, at: 7) {
            openCircuit = OpenCircuit(until: until, reason: try row.decode(String?.self, at: 8) ?? "")
        }
        limits.maximumBytesPerSecond = try row.decode(at: 9)
        waiting = try row.decode(at: 10)
        running = try row.decode(at: 11)
        blockedBy = try row.decode(at: 12)
        (createdAt, updatedAt) = (try row.decode(at: 13), try row.decode(at: 14))
        if try row.decode(Bool.self, at: 15) { limits.pinned.insert(.parallelism) }
        if try row.decode(Bool.self, at: 16) { limits.pinned.insert(.rate) }
        (started, periodBegan) = (try row.decode(at: 17), try row.decode(at: 18))
    }
}
