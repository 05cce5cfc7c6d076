package import FetchJobs
import Postgres

extension PostgresSessionStore {
    package func invalidate(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID,
        _ mode: Invalidation
    ) async throws(StoreError) -> TenantSession? {
        let invalidated = try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- sessions.invalidate
                WITH invalidated AS (
                    UPDATE sessions
                    SET state = \(mode.state), invalidated_at = coalesce(invalidated_at, now())
                    WHERE tenant_id = \(tenant) AND id = \(id)
                        AND (state = 'active' OR state = 'finishing' AND \(mode.state) = 'cancelling')
                    RETURNING id
                ), \(Query.audited(.invalidateSession, id.description, of: tenant, when: "invalidated"))
                SELECT 1 FROM invalidated
                """
            )
        }
        if !invalidated.isEmpty { try await settle([SessionAddress(tenant: tenant, session: id)]) }
        return try await session(id, of: tenant)
    }

    package func acknowledge(
        _ id: TenantSession.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> EventsAcknowledgement {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- sessions.acknowledge
                WITH asked AS MATERIALIZED (
                    SELECT s.tenant_id, s.id, NOT s.has_events AND s.events_finished_at IS NOT NULL
                        AND NOT EXISTS (
                            SELECT
                            FROM webhook_deliveries d
                            WHERE d.tenant_id = s.tenant_id AND d.session_id = s.id AND d.state = 'pending'
                                AND d.job_id IS NOT NULL
                        ) AS are_finished
                    FROM sessions s
                    WHERE s.tenant_id = \(tenant) AND s.id = \(id)
                    FOR NO KEY UPDATE
                ), acknowledged AS (
                    UPDATE sessions s
                    SET events_acknowledged_at = now()
                    FROM asked a
                    WHERE s.tenant_id = a.tenant_id AND s.id = a.id AND a.are_finished
                        AND s.events_acknowledged_at IS NULL
                    RETURNING s.id
                )
                SELECT are_finished, EXISTS (SELECT FROM acknowledged) FROM asked
                """
            )
            guard let row = rows.first else { return .unknown }
            guard try row.decode(Bool.self, at: 0) else { return .tooEarly }
            return try row.decode(Bool.self, at: 1) ? .acknowledged : .repeated
        }
    }

    package func remove(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- sessions.remove
                WITH removed AS (
                    DELETE FROM sessions
                    WHERE tenant_id = \(tenant) AND id = \(id) AND state = 'invalidated'
                    RETURNING id
                ), abandoned AS (
                    UPDATE webhook_deliveries d
                    SET state = 'abandoned'
                    FROM removed r
                    WHERE d.tenant_id = \(tenant) AND d.session_id = r.id AND d.job_id IS NULL AND d.state = 'pending'
                ), stores AS (
                    DELETE FROM session_stores s
                    USING removed r
                    WHERE s.tenant_id = \(tenant) AND s.session_id = r.id
                    RETURNING s.layer_ids[1] AS layer_id
                ), cookies AS (
                    -- The layer on top is the session's alone; those beneath may be others' too.
                    DELETE FROM cookies c
                    USING stores s
                    WHERE c.tenant_id = \(tenant) AND c.layer_id = s.layer_id
                ), credentials AS (
                    DELETE FROM credentials c
                    USING stores s
                    WHERE c.tenant_id = \(tenant) AND c.layer_id = s.layer_id
                ), answers AS (
                    DELETE FROM remembered_answers a
                    USING removed r
                    WHERE a.tenant_id = \(tenant) AND a.session_id = r.id
                ), cached AS (
                    -- The pruner finds their blobs.
                    DELETE FROM cache_entries e
                    USING removed r
                    WHERE e.tenant_id = \(tenant) AND e.session_id = r.id
                ), \(Query.audited(.removeSession, id.description, of: tenant, when: "removed"))
                SELECT id FROM removed
                """
            )
            return !rows.isEmpty
        }
    }

    package func settle(
        after last: SessionAddress?, limit: Int
    ) async throws(StoreError) -> SessionAddress? {
        let tenant = last?.tenant ?? Tenant.ID(rawValue: .min)
        let id = last?.session ?? TenantSession.ID(UUIDv7(high: 0, low: 0))
        let part = try await StoreError.wrap {
            try await client.query(
                """
                -- sessions.quiet
                WITH part AS MATERIALIZED (
                    SELECT s.tenant_id, s.id, s.state
                    FROM sessions s
                    WHERE (s.state IN ('finishing', 'cancelling') OR s.has_events)
                        AND (s.tenant_id, s.id) > (\(tenant), \(id))
                    ORDER BY s.tenant_id, s.id
                    LIMIT \(limit)
                )
                -- Of one that is being cancelled, jobs may have been left that were not asked to stop.
                SELECT p.tenant_id, p.id, p.state = 'cancelling' OR job.id IS NULL
                FROM part p
                LEFT JOIN LATERAL (
                    SELECT q.job_id AS id
                    FROM queue q
                    WHERE q.tenant_id = p.tenant_id AND q.session_id = p.id
                    LIMIT 1
                ) AS job ON true
                ORDER BY p.tenant_id, p.id
                """
            ).map { row in
                let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
                return (session: session, isDue: try row.decode(Bool.self, at: 2))
            }
        }
        try await settle(part.filter(\.isDue).map(\.session))
        return part.count < limit ? nil : part.last?.session
    }

    package func settle(_ sessions: [SessionAddress]) async throws(StoreError) {
        guard !sessions.isEmpty else { return }
        let (tenants, ids) = (sessions.map(\.tenant), sessions.map(\.session))
        try await cancelOutstanding(tenants, ids)
        try await StoreError.wrap {
            // Jobs are stored under a lock of their session that this one excludes, so that the second statement, which
            // sees all commits before it began, sees all jobs there will be before this is over.
            try await client.transaction { connection in
                let rows = try await connection.query(
                    """
                    -- sessions.lock
                    SELECT s.tenant_id, s.id
                    FROM sessions s
                    JOIN unnest(\(tenants), \(ids)) AS asked (tenant_id, id)
                        ON asked.tenant_id = s.tenant_id AND asked.id = s.id
                    WHERE (s.state IN ('finishing', 'cancelling') OR s.has_events)
                        AND NOT EXISTS (
                            SELECT FROM queue q WHERE q.tenant_id = s.tenant_id AND q.session_id = s.id
                        )
                    ORDER BY s.tenant_id, s.id
                    -- Who stores jobs of one in a transaction that goes on is not waited for: the next look finds it.
                    FOR UPDATE OF s SKIP LOCKED
                    """
                )
                guard !rows.isEmpty else { return }
                try await Self.tell(
                    try rows.map { try $0.decode(Tenant.ID.self, at: 0) },
                    try rows.map { try $0.decode(TenantSession.ID.self, at: 1) },
                    on: connection
                )
            }
        }
    }

    /// Says that all is over of sessions that have no job any more.
    private static func tell(
        _ tenants: [Tenant.ID],
        _ sessions: [TenantSession.ID],
        on connection: Connection
    ) async throws {
        try await connection.query(
            """
            -- sessions.tell
            WITH quiet AS MATERIALIZED (
                SELECT s.tenant_id, s.id, s.endpoint_id, s.has_events, s.state IN ('finishing', 'cancelling') AS is_over
                FROM sessions s
                JOIN unnest(\(tenants), \(sessions)) AS held (tenant_id, id)
                    ON held.tenant_id = s.tenant_id AND held.id = s.id
                WHERE NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = s.tenant_id AND q.session_id = s.id)
            ), ended AS (
                UPDATE sessions s
                SET has_events = false,
                    events_finished_at = CASE WHEN q.has_events THEN now() ELSE s.events_finished_at END,
                    events_acknowledged_at = CASE WHEN q.has_events THEN NULL ELSE s.events_acknowledged_at END,
                    state = CASE WHEN q.is_over THEN 'invalidated' ELSE s.state END,
                    ended_at = CASE WHEN q.is_over THEN now() ELSE s.ended_at END
                FROM quiet q
                WHERE s.tenant_id = q.tenant_id AND s.id = q.id
            ), event AS (
                SELECT tenant_id, id, endpoint_id, \(WebhookEvent.sessionEventsFinished)::text AS event
                FROM quiet
                WHERE has_events
                UNION ALL
                SELECT tenant_id, id, endpoint_id, \(WebhookEvent.sessionInvalidated)::text
                FROM quiet
                WHERE is_over
            )
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, session_id, event, created_at)
            -- Not the time when the transaction began, at which the last jobs may not have been over.
            SELECT v.tenant_id, uuidv7(), e.id, v.id, v.event, clock_timestamp()
            FROM event v
            JOIN webhook_endpoints e ON e.tenant_id = v.tenant_id AND e.id = v.endpoint_id
            WHERE v.event = ANY (e.events)
            """
        )
    }

    /// Asks the jobs of sessions that are being cancelled to stop, wherever they wait or run (SES-21).
    private func cancelOutstanding(_ tenants: [Tenant.ID], _ sessions: [TenantSession.ID]) async throws(StoreError) {
        while true {
            let rows = try await StoreError.wrap {
                try await client.query(
                    """
                    -- sessions.outstanding
                    SELECT q.tenant_id, q.job_id
                    FROM unnest(\(tenants), \(sessions)) AS asked (tenant_id, id)
                    JOIN sessions s ON s.tenant_id = asked.tenant_id AND s.id = asked.id
                    JOIN queue q ON q.tenant_id = s.tenant_id AND q.session_id = s.id
                    WHERE s.state = 'cancelling' AND NOT q.cancelling
                    LIMIT 500
                    """
                )
            }
            let outstanding = try await StoreError.wrap {
                try rows.map { (tenant: try $0.decode(Tenant.ID.self, at: 0), job: try $0.decode(Job.ID.self, at: 1)) }
            }
            guard !outstanding.isEmpty else { return }
            for (tenant, jobs) in Dictionary(grouping: outstanding, by: \.tenant) {
                try await self.jobs.cancel(jobs.map(\.job), of: tenant, .plainly)
            }
        }
    }
}
