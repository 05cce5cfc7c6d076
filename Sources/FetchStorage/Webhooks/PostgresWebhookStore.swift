import FetchEngine
package import FetchJobs
package import Postgres

/// Webhook endpoints and deliveries in PostgreSQL; signing secrets are sealed.
package struct PostgresWebhookStore: WebhookStore {
    private let client: Client
    private let ring: KeyRing

    package init(client: Client, ring: KeyRing) {
        self.client = client
        self.ring = ring
    }

    // MARK: Endpoints

    package func add(_ endpoint: WebhookEndpoint) async throws(StoreError) {
        try await StoreError.wrap {
            let sealed = try ring.seal(endpoint.secret.bytes, for: .secret(of: endpoint.id, tenant: endpoint.tenant))
            try await client.query(
                """
                -- endpoints.add
                INSERT INTO webhook_endpoints (tenant_id, id, url, events, sealed_secret, created_at)
                VALUES (
                    \(endpoint.tenant), \(endpoint.id), \(endpoint.url.description), \(endpoint.events), \(sealed),
                    \(endpoint.createdAt)
                )
                """
            )
        }
    }

    package func endpoint(
        _ id: WebhookEndpoint.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> WebhookEndpoint? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- endpoints.find
                SELECT id, url, events, sealed_secret, created_at
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant) AND id = \(id)
                """
            )
            return try rows.first.map { try endpoint($0, of: tenant) }
        }
    }

    package func endpoints(of tenant: Tenant.ID) async throws(StoreError) -> [WebhookEndpoint] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- endpoints.list
                SELECT id, url, events, sealed_secret, created_at
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant)
                ORDER BY id
                """
            )
            return try rows.map { try endpoint($0, of: tenant) }
        }
    }

    package func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- endpoints.remove
                WITH removed AS (
                    DELETE FROM webhook_endpoints WHERE tenant_id = \(tenant) AND id = \(id) RETURNING id
                ), abandoned AS (
                    UPDATE webhook_deliveries
                    SET state = 'abandoned'
                    WHERE tenant_id = \(tenant) AND endpoint_id = \(id) AND state = 'pending'
                )
                SELECT id FROM removed
                """
            )
            return !rows.isEmpty
        }
    }

    private func endpoint(_ row: Row, of tenant: Tenant.ID) throws -> WebhookEndpoint {
        let id = try row.decode(WebhookEndpoint.ID.self, at: 0)
        let secret = try ring.open(try row.decode(at: 3), for: .secret(of: id, tenant: tenant))
        return WebhookEndpoint(
            id: id,
            tenant: tenant,
            url: try URLRecord(try row.decode(String.self, at: 1)),
            events: try row.decode(at: 2),
            secret: WebhookSecret(bytes: secret),
            createdAt: try row.decode(at: 4)
        )
    }

    // MARK: Deliveries

    package func claimDeliveries(limit: Int) async throws(StoreError) -> [WebhookDelivery] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- deliveries.claim
                WITH due AS MATERIALIZED (
                    SELECT d.tenant_id, d.id
                    FROM webhook_deliveries d
                    WHERE d.state = 'pending' AND d.next_attempt_at <= now()
                        -- A session's own events come after those of its jobs, and its end comes last.
                        AND (d.job_id IS NOT NULL OR d.event = ANY (\(WebhookEvent.allCases.filter(\.isOfStores)))
                            OR NOT EXISTS (
                            SELECT FROM webhook_deliveries e
                            WHERE e.tenant_id = d.tenant_id AND e.session_id = d.session_id AND e.state = 'pending'
                                AND (e.job_id IS NOT NULL
                                    OR d.event = \(WebhookEvent.sessionInvalidated) AND e.event <> d.event)
                        ))
                    ORDER BY d.next_attempt_at
                    LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                )
                UPDATE webhook_deliveries d
                SET next_attempt_at = now() + interval '60 seconds', last_attempt_at = now(), attempts = d.attempts + 1
                FROM due
                WHERE d.tenant_id = due.tenant_id AND d.id = due.id
                RETURNING d.id, d.tenant_id, d.endpoint_id, d.job_id, d.session_id, d.event, d.created_at, d.attempts
                """
            )
            return try rows.map { row in
                WebhookDelivery(
                    id: try row.decode(at: 0),
                    tenant: try row.decode(at: 1),
                    endpoint: try row.decode(at: 2),
                    subject: try row.decode(Job.ID?.self, at: 3).map { .job($0) } ?? .session(row.decode(at: 4)),
                    event: try row.decode(at: 5),
                    createdAt: try row.decode(at: 6),
                    attempts: Int(try row.decode(Int16.self, at: 7)) - 1
                )
            }
        }
    }

    package func settle(
        _ delivery: WebhookDelivery,
        _ verdict: DeliveryVerdict,
        status: Int?
    ) async throws(StoreError) {
        let (state, wait): (String, Duration) =
            switch verdict {
            case .delivered: ("delivered", .zero)
            case .again(let wait): ("pending", wait)
            case .abandoned: ("abandoned", .zero)
            }
        try await StoreError.wrap {
            try await client.query(
                """
                -- deliveries.settle
                UPDATE webhook_deliveries
                SET state = \(state), next_attempt_at = now() + \(wait),
                    last_status = \(status.map { Int16(clamping: $0) })
                WHERE tenant_id = \(delivery.tenant) AND id = \(delivery.id) AND state = 'pending'
                    AND attempts = \(Int16(clamping: delivery.attempts + 1))
                """
            )
        }
    }

    package func nextDelivery() async throws(StoreError) -> Timestamp? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- deliveries.next
                SELECT min(next_attempt_at) FROM webhook_deliveries WHERE state = 'pending'
                """
            )
            return try rows.first?.decode(Timestamp?.self, at: 0) ?? nil
        }
    }
}

extension KeyRing.Place {
    static func secret(of endpoint: WebhookEndpoint.ID, tenant: Tenant.ID) -> Self {
        Self(table: "webhook_endpoints", column: "sealed_secret", tenant: tenant.rawValue, row: endpoint.description)
    }
}
