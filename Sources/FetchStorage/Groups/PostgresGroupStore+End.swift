package import FetchJobs
import Postgres

extension PostgresGroupStore {
    package func close(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- groups.close
                UPDATE groups
                SET closed_at = now()
                WHERE tenant_id = \(tenant) AND id = \(id) AND closed_at IS NULL
                """
            )
        }
        try await settle()
        return try await group(id, of: tenant)
    }

    package func settle() async throws(StoreError) {
        try await StoreError.wrap {
            // Jobs are stored under a lock of their group that this one excludes, so that the second statement, which
            // sees all commits before it began, sees all jobs there will be before this is over.
            try await client.transaction { connection in
                let rows = try await connection.query(
                    """
                    -- groups.quiet
                    SELECT g.tenant_id, g.id
                    FROM groups g
                    WHERE g.closed_at IS NOT NULL AND g.finished_at IS NULL
                        AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = g.tenant_id AND q.group_id = g.id)
                    ORDER BY g.tenant_id, g.id
                    LIMIT 500
                    -- Who stores jobs of one in a transaction that goes on is not waited for: the next look finds it.
                    FOR UPDATE SKIP LOCKED
                    """
                )
                guard !rows.isEmpty else { return }
                let tenants = try rows.map { try $0.decode(Tenant.ID.self, at: 0) }
                let groups = try rows.map { try $0.decode(JobGroup.ID.self, at: 1) }
                try await connection.query(
                    """
                    -- groups.finish
                    WITH finished AS (
                        UPDATE groups g
                        SET finished_at = now()
                        FROM unnest(\(tenants), \(groups)) AS held (tenant_id, id)
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
