package import FetchJobs
import Postgres

// Events in an order that never changes. Those of a session have places from when they are asked for first, those of an
// endpoint without a URL from when they are there for its readers.
extension PostgresWebhookStore {
    private static let maximumPlaced = 5000

    package func events(
        of source: EventSource,
        _ tenant: Tenant.ID,
        page: DeliveryPage
    ) async throws(StoreError) -> [WebhookDelivery]? {
        try await StoreError.wrap {
            let (place, isOfSource): (Query, Query)
            switch source {
            case .session(let id):
                while try await self.place(id, tenant) == Self.maximumPlaced {}
                (place, isOfSource) = ("d.place", "d.session_id = \(id)")
            case .endpoint(let id): (place, isOfSource) = ("d.endpoint_place", "d.endpoint_id = \(id)")
            }
            var start: Int64 = 0
            if let after = page.after {
                let rows = try await client.of(tenant).query(
                    """
                    -- events.find
                    SELECT \(place)
                    FROM webhook_deliveries d
                    WHERE d.tenant_id = \(tenant) AND d.id = \(after) AND \(isOfSource)
                    """
                )
                guard let row = rows.first else { return nil }
                // Behind one that was stored just now is nothing.
                guard let place = try row.decode(Int64?.self, at: 0) else { return [] }
                start = place
            }
            let rows = try await client.of(tenant).query(
                """
                -- events.list
                SELECT \(Self.deliveryColumns), d.data
                FROM webhook_deliveries d
                WHERE d.tenant_id = \(tenant) AND \(isOfSource) AND \(place) > \(start)
                ORDER BY \(place)
                LIMIT \(page.limit)
                """
            )
            return try rows.map { row in
                var delivery = try WebhookDelivery(row: row, attemptsUnderWay: 0)
                delivery.data = try row.decode(at: 11)
                return delivery
            }
        }
    }

    /// Gives places to events that have none, in the order of their making; to how many.
    private func place(_ session: TenantSession.ID, _ tenant: Tenant.ID) async throws -> Int {
        let rows = try await client.of(tenant).query(
            """
            -- events.unplaced
            SELECT
            FROM webhook_deliveries
            WHERE tenant_id = \(tenant) AND session_id = \(session) AND place IS NULL
            LIMIT 1
            """
        )
        guard !rows.isEmpty else { return 0 }
        return try await client.of(tenant).transaction { connection in
            // One caller after the other, each of which sees the events that the one before has placed.
            try await connection.query(
                """
                -- events.lock
                SELECT pg_advisory_xact_lock(hashtextextended(\(session.description), \(tenant.rawValue)))
                """
            )
            return try await connection.query(
                """
                -- events.place
                WITH unplaced AS MATERIALIZED (
                    SELECT earliest.id, row_number() OVER (ORDER BY earliest.created_at, earliest.id) AS number
                    FROM (
                        SELECT d.id, d.created_at
                        FROM webhook_deliveries d
                        WHERE d.tenant_id = \(tenant) AND d.session_id = \(session) AND d.place IS NULL
                        -- By the place, which none has, too: as the index has them, however many there are.
                        ORDER BY d.place, d.created_at, d.id
                        LIMIT \(Self.maximumPlaced)
                    ) AS earliest
                ), free AS MATERIALIZED (
                    SELECT d.id
                    FROM webhook_deliveries d
                    WHERE d.tenant_id = \(tenant) AND d.id IN (SELECT id FROM unplaced)
                    -- Who settles some in another order is not waited for: it may wait for this one.
                    FOR NO KEY UPDATE SKIP LOCKED
                ), busy AS (
                    SELECT min(number) AS number FROM unplaced WHERE id NOT IN (SELECT id FROM free)
                )
                UPDATE webhook_deliveries d
                SET place = u.number + (
                    SELECT coalesce(max(p.place), 0)
                    FROM webhook_deliveries p
                    WHERE p.tenant_id = \(tenant) AND p.session_id = \(session)
                )
                FROM unplaced u
                CROSS JOIN busy b
                -- What comes behind one that is being settled is placed after it, by the next who asks.
                WHERE d.tenant_id = \(tenant) AND d.id = u.id AND (b.number IS NULL OR u.number < b.number)
                """
            ).affected
        }
    }
}
