package import FetchJobs
import Postgres

extension PostgresGroupStore {
    package func close(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        let closed = try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- groups.close
                UPDATE groups
                SET closed_at = now()
                WHERE tenant_id = \(tenant) AND id = \(id) AND closed_at IS NULL
                RETURNING id
                """
            )
        }
        if !closed.isEmpty { try await settle([JobGroup.Address(tenant: tenant, id: id)]) }
        return try await group(id, of: tenant)
    }

    package func settle(
        after last: JobGroup.Address?, limit: Int
    ) async throws(StoreError) -> JobGroup.Address? {
        let (tenant, id) = (last?.tenant ?? Tenant.ID(rawValue: .min), last?.id ?? JobGroup.ID(UUIDv7(high: 0, low: 0)))
        let part = try await StoreError.wrap {
            try await client.query(
                """
                -- groups.quiet
                WITH part AS MATERIALIZED (
                    SELECT g.tenant_id, g.id
                    FROM groups g
                    WHERE g.closed_at IS NOT NULL AND g.finished_at IS NULL AND (g.tenant_id, g.id) > (\(tenant), \(id))
                    ORDER BY g.tenant_id, g.id
                    LIMIT \(limit)
                )
                SELECT p.tenant_id, p.id, job.id IS NULL
                FROM part p
                LEFT JOIN LATERAL (
                    SELECT q.job_id AS id
                    FROM queue q
                    WHERE q.tenant_id = p.tenant_id AND q.group_id = p.id
                    LIMIT 1
                ) AS job ON true
                ORDER BY p.tenant_id, p.id
                """
            ).map { row in
                let group = JobGroup.Address(tenant: try row.decode(at: 0), id: try row.decode(at: 1))
                return (group: group, isQuiet: try row.decode(Bool.self, at: 2))
            }
        }
        try await settle(part.filter(\.isQuiet).map(\.group))
        return part.count < limit ? nil : part.last?.group
    }

    package func settle(_ groups: [JobGroup.Address]) async throws(StoreError) {
        guard !groups.isEmpty else { return }
        try await StoreError.wrap {
            // Jobs are stored under a lock of their group that this one excludes, so that the second statement, which
            // sees all commits before it began, sees all jobs there will be before this is over.
            try await client.transaction { connection in
                let rows = try await connection.query(
                    """
                    -- groups.lock
                    SELECT g.tenant_id, g.id
                    FROM groups g
                    JOIN unnest(\(groups.map(\.tenant)), \(groups.map(\.id))) AS asked (tenant_id, id)
                        ON asked.tenant_id = g.tenant_id AND asked.id = g.id
                    WHERE g.closed_at IS NOT NULL AND g.finished_at IS NULL
                        AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = g.tenant_id AND q.group_id = g.id)
                    ORDER BY g.tenant_id, g.id
                    -- Who stores jobs of one in a transaction that goes on is not waited for: the next look finds it.
                    FOR UPDATE OF g SKIP LOCKED
                    """
                )
                guard !rows.isEmpty else { return }
                let tenants = try rows.map { try $0.decode(Tenant.ID.self, at: 0) }
                let ids = try rows.map { try $0.decode(JobGroup.ID.self, at: 1) }
                try await connection.query(
                    """
                    -- groups.finish
                    WITH finished AS (
                        UPDATE groups g
                        SET finished_at = now()
                        FROM unnest(\(tenants), \(ids)) AS held (tenant_id, id)
                        WHERE g.tenant_id = held.tenant_id AND g.id = held.id AND g.finished_at IS NULL
                            AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = g.tenant_id AND q.group_id = g.id)
                        RETURNING g.tenant_id, g.id, g.endpoint_id
                    )
                    INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, group_id, event)
                    SELECT f.tenant_id, uuidv7(), e.id, f.id, \(WebhookEvent.groupFinished)
                    FROM finished f
                    JOIN webhook_endpoints e ON e.tenant_id = f.tenant_id AND e.id = f.endpoint_id
                    WHERE \(WebhookEvent.groupFinished) = ANY (e.events)
                    """
                )
            }
        }
    }
}
