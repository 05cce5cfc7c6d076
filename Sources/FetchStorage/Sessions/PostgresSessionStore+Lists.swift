package import FetchJobs
import Postgres

extension PostgresSessionStore {
    package func sessions(
        of tenant: Tenant.ID,
        matching filter: SessionFilter,
        page: SessionPage
    ) async throws(StoreError) -> [TenantSession] {
        let start = page.after ?? TenantSession.ID(UUIDv7(high: .max, low: .max))
        let filters: Query = """
            (\(filter.kind)::text IS NULL OR s.kind = \(filter.kind))
                AND (\(filter.identifier)::text IS NULL OR s.identifier = \(filter.identifier))
            """
        return try await StoreError.wrap {
            let rows =
                filter.isOutstanding
                ? try await outstanding(of: tenant, filters, before: start, limit: page.limit)
                : try await client.of(tenant).query(
                    """
                    -- sessions.list
                    SELECT \(TenantSession.columns)
                    FROM sessions s
                    WHERE s.tenant_id = \(tenant) AND s.id < \(start) AND \(filters)
                    ORDER BY s.id DESC
                    LIMIT \(page.limit)
                    """
                )
            return try rows.map { try TenantSession(row: $0, tenant: tenant) }
        }
    }

    /// The same of those that have jobs, or events on their way.
    ///
    /// From one such session to the next it is a step in three indexes, however many jobs and events each has and
    /// however many sessions have none.
    private func outstanding(
        of tenant: Tenant.ID, _ filters: Query, before start: TenantSession.ID, limit: Int
    ) async throws -> Rows {
        try await client.of(tenant).query(
            """
            -- sessions.listOutstanding
            WITH RECURSIVE outstanding AS (
                SELECT \(start)::uuid AS id
                UNION ALL
                SELECT next.id
                FROM outstanding o
                CROSS JOIN LATERAL (
                    SELECT found.id
                    FROM (
                        (
                            SELECT s.id
                            FROM sessions s
                            WHERE s.tenant_id = \(tenant) AND s.id < o.id
                                AND (s.state IN ('finishing', 'cancelling') OR s.has_events)
                            ORDER BY s.id DESC
                            LIMIT 1
                        )
                        UNION ALL
                        (
                            SELECT q.session_id
                            FROM queue q
                            WHERE q.tenant_id = \(tenant) AND q.session_id < o.id
                            ORDER BY q.session_id DESC
                            LIMIT 1
                        )
                        UNION ALL
                        (
                            SELECT d.session_id
                            FROM webhook_deliveries d
                            WHERE d.tenant_id = \(tenant) AND d.session_id < o.id AND d.state = 'pending'
                            ORDER BY d.session_id DESC
                            LIMIT 1
                        )
                    ) AS found
                    ORDER BY found.id DESC
                    LIMIT 1
                ) AS next
            )
            SELECT \(TenantSession.columns)
            FROM (
                -- In the order of the walk, which ends with the last that is wanted.
                SELECT \(TenantSession.columns)
                FROM outstanding o
                CROSS JOIN LATERAL (
                    SELECT \(TenantSession.columns)
                    FROM sessions s
                    WHERE s.tenant_id = \(tenant) AND s.id = o.id AND s.id < \(start) AND \(filters)
                    OFFSET 0
                ) AS s
                LIMIT \(limit)
            ) AS s
            ORDER BY s.id DESC
            """
        )
    }
}
