package import FetchJobs
package import Postgres

/// The lanes in PostgreSQL.
///
/// Every change raises the version that tells nodes to read again. What jobs do at the moment is counted where it is
/// asked for: what waits, up to a bound, and what runs, of which there is never much.
package struct PostgresLaneStore: LaneStore {
    /// Up to how many waiting jobs are counted.
    private static let countLimit = 100_000

    private let client: Client
    private let known: KnownLanes
    private let quotas: WaitingQuotas?
    private let intake: (any Intake)?
    private let announce: @Sendable () -> Void

    /// - Parameters:
    ///   - known: What this node knows, to be brought up to date with each change.
    ///   - quotas: How many jobs may wait; nil for as many as come.
    ///   - intake: The worker in this process, when there is one.
    ///   - announce: Tells other nodes that there is something to do.
    package init(
        client: Client,
        known: KnownLanes,
        quotas: WaitingQuotas? = nil,
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

    package func lanes(
        of tenant: Tenant.ID, _ kind: Lane.Kind, after key: String, limit: Int
    ) async throws(StoreError) -> [Lane] {
        let page: Query = "l.key > \(key) ORDER BY l.key LIMIT \(limit)"
        return try await lanes(of: tenant, kind, page)
    }

    package func lane(_ address: Lane.Address) async throws(StoreError) -> Lane? {
        try await lanes(of: address.tenant, address.kind, "l.key = \(address.key)").first
    }

    private func lanes(of tenant: Tenant.ID, _ kind: Lane.Kind, _ page: Query) async throws(StoreError) -> [Lane] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- lanes.find
                WITH running AS MATERIALIZED (
                    SELECT CASE WHEN \(kind == .flow) THEN q.flow ELSE j.host END AS key, count(*) AS count
                    FROM queue q
                    JOIN jobs j ON j.tenant_id = q.tenant_id AND j.id = q.job_id
                    WHERE q.tenant_id = \(tenant) AND q.node_id IS NOT NULL
                    GROUP BY 1
                )
                SELECT l.key, l.paused, l.parallelism, l.rate_jobs, l.rate_period, l.in_order, l.blocks,
                    l.parked_until, l.parked_by, l.bytes_per_second,
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
                        JOIN results r ON r.tenant_id = b.tenant_id AND r.job_id = b.job_id
                        WHERE b.tenant_id = l.tenant_id AND l.kind = 'flow' AND b.flow = l.key AND r.state = 'failed'
                        ORDER BY b.job_id
                        LIMIT 1
                    )
                FROM lanes l
                LEFT JOIN running ON running.key = l.key
                WHERE l.tenant_id = \(tenant) AND l.kind = \(kind) AND l.removed_at IS NULL AND \(page)
                """
            )
            return try rows.map { try Lane(row: $0, tenant: tenant, kind: kind) }
        }
    }

    // MARK: Changing

    package func set(_ limits: LaneLimits, of lane: Lane.Address) async throws(StoreError) {
        try await change(
            lane,
            """
            -- lanes.set
            WITH \(Query.newVersion), running AS (
                -- What runs already has its place.
                UPDATE queue q
                SET host = CASE WHEN \(lane.kind == .host) THEN j.host ELSE q.host END,
                    in_host = q.in_host OR \(lane.kind == .host), in_flow = q.in_flow OR \(lane.kind == .flow)
                FROM jobs j
                WHERE q.tenant_id = \(lane.tenant) AND q.node_id IS NOT NULL
                    AND j.tenant_id = q.tenant_id AND j.id = q.job_id
                    AND CASE WHEN \(lane.kind == .host) THEN j.host = \(lane.key) ELSE q.flow = \(lane.key) END
            )
            INSERT INTO lanes (
                tenant_id, kind, key, parallelism, rate_jobs, rate_period, in_order, blocks, bytes_per_second, version
            )
            SELECT \(lane.tenant), \(lane.kind), \(lane.key), \(limits.parallelism.map { Int32($0) }),
                \(limits.rate.map { Int32($0.jobs) }), \(limits.rate?.period), \(limits.order == .fifo),
                \(limits.onFailure == .block), \(limits.maximumBytesPerSecond), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET parallelism = excluded.parallelism, rate_jobs = excluded.rate_jobs,
                rate_period = excluded.rate_period, in_order = excluded.in_order, blocks = excluded.blocks,
                bytes_per_second = excluded.bytes_per_second, removed_at = NULL, version = excluded.version
            """)
    }

    package func setPaused(_ isPaused: Bool, _ lane: Lane.Address) async throws(StoreError) {
        try await change(
            lane,
            """
            -- lanes.pause
            WITH \(Query.newVersion)
            INSERT INTO lanes (tenant_id, kind, key, paused, version)
            SELECT \(lane.tenant), \(lane.kind), \(lane.key), \(isPaused), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET paused = excluded.paused, removed_at = NULL, version = excluded.version,
                -- Who resumes it knows better than its origin did.
                parked_until = CASE WHEN excluded.paused THEN lanes.parked_until END,
                parked_by = CASE WHEN excluded.paused THEN lanes.parked_by END,
                refusals = CASE WHEN excluded.paused THEN lanes.refusals ELSE 0 END,
                doublings = CASE WHEN excluded.paused THEN lanes.doublings ELSE 0 END
            """)
    }

    package func remove(_ lane: Lane.Address) async throws(StoreError) -> Bool {
        try await change(
            lane,
            """
            -- lanes.remove
            WITH \(Query.newVersion)
            UPDATE lanes l
            SET paused = false, parallelism = NULL, rate_jobs = NULL, rate_period = NULL, in_order = false,
                blocks = false, bytes_per_second = NULL, parked_until = NULL, parked_by = NULL, refusals = 0,
                doublings = 0, crowd = NULL, crowded_at = NULL, removed_at = now(), version = changed.version
            FROM changed
            WHERE l.tenant_id = \(lane.tenant) AND l.kind = \(lane.kind) AND l.key = \(lane.key)
                AND l.removed_at IS NULL
            """) > 0
    }

    package func skip(_ lane: Lane.Address) async throws(StoreError) {
        try await change(
            lane,
            """
            -- lanes.skip
            DELETE FROM flow_blocks WHERE tenant_id = \(lane.tenant) AND flow = \(lane.key)
            """)
    }

    // MARK: The whole queue

    package func queue(of tenant: Tenant.ID) async throws(StoreError) -> TenantQueue {
        try await StoreError.wrap {
            let rows = try await client.query(
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
            WITH \(Query.newVersion)
            UPDATE tenants SET paused = \(isPaused) WHERE id = \(tenant)
            """)
        intake?.wake()
    }

    /// Runs a change, and has all nodes go by it.
    ///
    /// - Parameter lane: The one that it is of; nil for all.
    /// - Returns: How many rows it changed.
    @discardableResult
    private func change(_ lane: Lane.Address?, _ query: Query) async throws(StoreError) -> Int {
        let count = try await StoreError.wrap { try await client.query(query).affected }
        try await known.refresh()
        announce()
        intake?.admit(lane.map { [$0] })
        return count
    }
}

extension Query {
    /// A version for all nodes to read again, as `changed`; goes behind a `WITH`.
    static var newVersion: Query {
        "changed AS (UPDATE queue_state SET version = version + 1 RETURNING version)"
    }
}

extension Lane {
    fileprivate init(row: Row, tenant: Tenant.ID, kind: Kind) throws {
        self.init(address: Address(tenant: tenant, kind: kind, key: try row.decode(at: 0)))
        isPaused = try row.decode(at: 1)
        limits.parallelism = try row.decode(Int32?.self, at: 2).map { Int($0) }
        if let jobs = try row.decode(Int32?.self, at: 3) {
            limits.rate = LaneLimits.Rate(jobs: Int(jobs), period: try row.decode(at: 4))
        }
        limits.order = try row.decode(Bool.self, at: 5) ? .fifo : .any
        limits.onFailure = try row.decode(Bool.self, at: 6) ? .block : .skip
        if let until = try row.decode(Timestamp?.self, at: 7) {
            parking = Parking(until: until, reason: try row.decode(String?.self, at: 8) ?? "")
        }
        limits.maximumBytesPerSecond = try row.decode(at: 9)
        waiting = try row.decode(at: 10)
        running = try row.decode(at: 11)
        blockedBy = try row.decode(at: 12)
    }
}
