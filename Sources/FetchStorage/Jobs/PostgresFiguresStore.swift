package import FetchJobs
package import Postgres

/// The figures of overviews, from PostgreSQL.
///
/// No statement here reads more than a bounded number of rows: each part walks one index, and stops.
package struct PostgresFiguresStore: FiguresStore {
    /// One more than are counted, which tells that there are more.
    private static let countLimit = BoundedCount.limit + 1
    /// How many nodes are listed.
    private static let maximumNodes = 100
    /// How many tables are listed.
    private static let maximumTables = 12

    private let client: Client

    package init(client: Client) { self.client = client }

    // MARK: Jobs

    package func figures(of tenant: Tenant.ID) async throws(StoreError) -> JobFigures {
        try await StoreError.wrap {
            var figures = JobFigures()
            if let row = try await client.of(tenant).query(Self.current(of: tenant)).first {
                try figures.take(current: row)
            }
            let ended = try await client.of(tenant).query(Self.ended(of: tenant))
            figures.minutes = try EndedJobs.read(ended.filter { try $0.decode(Bool.self, at: 0) }, at: 1)
            figures.hours = try EndedJobs.read(ended.filter { try !$0.decode(Bool.self, at: 0) }, at: 1)
            figures.openCircuits = try await client.of(tenant).query(Self.circuits(of: tenant)).map { row in
                let address = Limiter.Address(tenant: tenant, kind: .host, key: try row.decode(at: 0))
                var limiter = Limiter(address: address)
                limiter.openCircuit = .init(
                    until: try row.decode(at: 1), reason: try row.decode(String?.self, at: 2) ?? "")
                return limiter
            }
            return figures
        }
    }

    /// The jobs that wait and run, and what else waits.
    static func current(of tenant: Tenant.ID) -> Query {
        """
        -- figures.current
        WITH RECURSIVE first AS (
            -- The first job of each rank; a rank is stepped over by one look at the index.
            (\(firstWaiting(of: tenant, behind: "-1")))
            UNION ALL
            SELECT next.rank, next.run_at
            FROM first
            CROSS JOIN LATERAL (\(firstWaiting(of: tenant, behind: "first.rank"))) AS next
        ), held AS (
            SELECT q.scheduled, q.suspended, q.question_id
            FROM queue q
            WHERE q.tenant_id = \(tenant) AND (q.scheduled OR q.suspended)
            ORDER BY q.tenant_id, q.job_id
            LIMIT \(countLimit)
        )
        SELECT
            (SELECT count(*) FROM (
                SELECT
                FROM queue q
                WHERE q.tenant_id = \(tenant) AND \(isReady) AND q.question_id IS NULL
                ORDER BY q.tenant_id, q.rank, q.run_at, q.job_id
                LIMIT \(countLimit)
            ) AS ready) + (SELECT count(*) FROM (
                SELECT
                FROM queue q
                WHERE q.tenant_id = \(tenant) AND q.gate = 'flow'
                ORDER BY q.tenant_id, q.flow, q.job_id
                LIMIT \(countLimit)
            ) AS at_flow) + (SELECT count(*) FROM (
                SELECT
                FROM queue q
                WHERE q.tenant_id = \(tenant) AND q.gate = 'host'
                ORDER BY q.tenant_id, q.host, q.rank, q.run_at, q.job_id
                LIMIT \(countLimit)
            ) AS at_host),
            (SELECT count(*) FROM (
                SELECT
                FROM queue q
                WHERE q.tenant_id = \(tenant) AND q.node_id IS NOT NULL AND NOT q.suspended AND q.question_id IS NULL
                ORDER BY q.tenant_id, q.job_id
                LIMIT \(countLimit)
            ) AS running),
            (SELECT count(*) FROM (
                SELECT
                FROM queue q
                WHERE q.tenant_id = \(tenant) AND q.question_id IS NOT NULL AND NOT q.suspended
                ORDER BY q.tenant_id, q.job_id
                LIMIT \(countLimit)
            ) AS asking),
            (SELECT count(*) FROM held WHERE NOT suspended AND question_id IS NULL),
            (SELECT count(*) FROM held WHERE suspended),
            (SELECT count(*) FROM held),
            (SELECT min(run_at) FROM first),
            (SELECT count(*) FROM (
                SELECT
                FROM webhook_deliveries d
                WHERE d.tenant_id = \(tenant) AND d.state = 'pending'
                ORDER BY d.tenant_id, d.endpoint_id, d.next_attempt_at
                LIMIT \(countLimit)
            ) AS pending),
            (SELECT count(*) FROM (
                SELECT
                FROM webhook_deliveries d
                WHERE d.tenant_id = \(tenant) AND d.state = 'abandoned' AND d.id >= \(dayAgo(WebhookDelivery.Kind.self))
                ORDER BY d.tenant_id, d.id
                LIMIT \(countLimit)
            ) AS abandoned),
            (SELECT count(*) FROM (
                SELECT
                FROM questions a
                WHERE a.tenant_id = \(tenant) AND a.state = 'open' AND a.deadline > now()
                ORDER BY a.tenant_id, a.id
                LIMIT \(countLimit)
            ) AS open)
        """
    }

    /// Those in the index of jobs that may be claimed.
    private static let isReady: Query =
        "q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL"

    private static func firstWaiting(of tenant: Tenant.ID, behind rank: Query) -> Query {
        """
        SELECT q.rank, q.run_at
        FROM queue q
        WHERE q.tenant_id = \(tenant) AND \(isReady) AND q.rank > \(rank)
        ORDER BY q.tenant_id, q.rank, q.run_at, q.job_id
        LIMIT 1
        """
    }

    /// Ends by the minute of the last hour and by the hour of the last day: they were counted when they were settled.
    private static func ended(of tenant: Tenant.ID) -> Query {
        """
        -- figures.ended
        SELECT false, date_trunc('hour', minute, 'UTC') AS start, state, sum(jobs)::bigint, sum(body_bytes)::bigint
        FROM job_counts
        WHERE tenant_id = \(tenant) AND minute > now() - interval '24 hours'
        GROUP BY start, state
        UNION ALL
        SELECT true, minute AS start, state, sum(jobs)::bigint, sum(body_bytes)::bigint
        FROM job_counts
        WHERE tenant_id = \(tenant) AND minute > now() - interval '1 hour'
        GROUP BY start, state
        ORDER BY start, state
        """
    }

    private static func circuits(of tenant: Tenant.ID) -> Query {
        """
        -- figures.circuits
        SELECT key, circuit_open_until, circuit_reason
        FROM limiters
        WHERE tenant_id = \(tenant) AND kind = 'host' AND circuit_open_until IS NOT NULL AND removed_at IS NULL
        ORDER BY circuit_open_until DESC
        LIMIT \(JobFigures.maximumCircuits)
        """
    }

    package func sample(of tenant: Tenant.ID, withFlows: Bool) async throws(StoreError) -> [SampledJob] {
        try await StoreError.wrap {
            let rows = try await client.ofJobs(of: tenant).query(
                """
                -- figures.sample
                SELECT r.job_id, r.state, r.finished_at,
                    extract(epoch FROM r.finished_at - r.started_at)::float8,
                    greatest(extract(epoch FROM r.started_at - j.created_at), 0)::float8,
                    r.status, r.error_name, j.host,
                    CASE WHEN \(withFlows) THEN j.spec #>> '{flow,key}' END
                FROM (
                    SELECT job_id, state, started_at, finished_at, status, error_name
                    FROM results
                    WHERE tenant_id = \(tenant) AND job_id >= \(Self.dayAgo(Job.Kind.self))
                    ORDER BY job_id DESC
                    LIMIT \(SampledJob.limit)
                ) r
                JOIN jobs j ON j.tenant_id = \(tenant) AND j.id = r.job_id
                """
            )
            return try rows.map { try SampledJob(row: $0) }.sorted { $0.id > $1.id }
        }
    }

    /// The first id that can be of the last day.
    private static func dayAgo<Kind>(_ kind: Kind.Type) -> Identifier<Kind> {
        Identifier(earliestAt: Timestamp.now.advanced(by: .seconds(-86_400)))
    }

    // MARK: The service

    package func nodes() async throws(StoreError) -> [NodeFigures] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- figures.nodes
                SELECT n.id, n.started_at, n.lease_until, n.url, coalesce(held.jobs, 0), coalesce(held.all_jobs, 0),
                    n.roles
                FROM nodes n
                LEFT JOIN (
                    SELECT q.node_id, count(*) AS jobs, sum(count(*)) OVER ()::bigint AS all_jobs
                    FROM (SELECT node_id FROM queue WHERE node_id IS NOT NULL LIMIT \(Self.countLimit)) AS q
                    GROUP BY q.node_id
                ) AS held ON held.node_id = n.id
                WHERE n.lease_until > now() - interval '1 hour'
                ORDER BY n.started_at DESC, n.id
                LIMIT \(Self.maximumNodes)
                """
            )
            return try rows.map { row in
                NodeFigures(
                    id: try row.decode(at: 0), startedAt: try row.decode(at: 1), leaseUntil: try row.decode(at: 2),
                    url: try row.decode(at: 3),
                    roles: Set(try row.decode([String].self, at: 6).compactMap { NodeRole(rawValue: $0) }),
                    jobs: BoundedCount(try row.decode(at: 4), of: try row.decode(Int64.self, at: 5)))
            }
        }
    }

    package func database() async throws(StoreError) -> DatabaseFigures {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- figures.database
                SELECT current_setting('server_version'), pg_database_size(current_database()),
                    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
                    current_setting('max_connections')::bigint
                """
            )
            guard let row = rows.first else { throw StoreError(.failed, "The database has no answer.") }
            var figures = DatabaseFigures(
                version: try row.decode(at: 0), bytes: try row.decode(at: 1), connections: try row.decode(at: 2),
                maximumConnections: try row.decode(at: 3))
            figures.migrations = try await client.query(
                """
                -- figures.migrations
                SELECT name, applied_at FROM schema_migrations ORDER BY name
                """
            ).map { .init(name: try $0.decode(at: 0), appliedAt: try $0.decode(at: 1)) }
            figures.tables = try await client.query(Self.tables).map {
                .init(name: try $0.decode(at: 0), bytes: try $0.decode(at: 1), rows: try $0.decode(at: 2))
            }
            return figures
        }
    }

    /// Partitions are counted with their table.
    private static let tables: Query = """
        -- figures.tables
        SELECT coalesce(parent.relname, c.relname)::text AS name, sum(pg_total_relation_size(c.oid))::bigint AS bytes,
            sum(greatest(c.reltuples, 0))::bigint
        FROM pg_class c
        LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
        LEFT JOIN pg_class parent ON parent.oid = i.inhparent
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
        GROUP BY 1
        ORDER BY bytes DESC, name
        LIMIT \(maximumTables)
        """
}

extension JobFigures {
    /// Takes the row of ``PostgresFiguresStore/current(of:)``.
    mutating func take(current row: Row) throws {
        let held = try row.decode(Int64.self, at: 5)
        current[.queued] = BoundedCount(try row.decode(at: 0))
        current[.running] = BoundedCount(try row.decode(at: 1))
        current[.awaitingDecision] = BoundedCount(try row.decode(at: 2))
        current[.scheduled] = BoundedCount(try row.decode(at: 3), of: held)
        current[.suspended] = BoundedCount(try row.decode(at: 4), of: held)
        oldestQueuedAt = try row.decode(at: 6)
        pendingDeliveries = BoundedCount(try row.decode(at: 7))
        abandonedDeliveries = BoundedCount(try row.decode(at: 8))
        openQuestions = BoundedCount(try row.decode(at: 9))
    }
}

extension SampledJob {
    fileprivate init(row: Row) throws {
        self.init(
            id: try row.decode(at: 0), state: try row.decode(at: 1), finishedAt: try row.decode(at: 2),
            duration: try row.decode(at: 3), waiting: try row.decode(at: 4),
            status: try row.decode(Int16?.self, at: 5).map { Int($0) }, errorName: try row.decode(at: 6),
            host: try row.decode(at: 7), flow: try row.decode(at: 8))
    }
}
