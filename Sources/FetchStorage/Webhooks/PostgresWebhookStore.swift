import FetchEngine
package import FetchJobs
package import Postgres

/// Webhook endpoints and deliveries in PostgreSQL; signing secrets are sealed.
package struct PostgresWebhookStore: WebhookStore, DeliveryQueue {
    let client: Client
    private let ring: KeyRing
    let settling: Batcher<DeliverySettlement, Bool>
    let adding: Batcher<RunEvent, Void>
    /// Called when deliveries became due that were not.
    let onDue: @Sendable () -> Void

    package init(client: Client, ring: KeyRing, onDue: @escaping @Sendable () -> Void = {}) {
        self.client = client
        self.ring = ring
        self.onDue = onDue
        settling = Batcher(maximumItems: 200) { try await Self.settle($0, client: client) }
        adding = Batcher(maximumItems: 200) { events in
            try await Self.add(events, client: client)
            return events.map { _ in }
        }
    }

    package func add(_ endpoint: WebhookEndpoint) async throws(StoreError) {
        try await StoreError.wrap {
            let sealed = try ring.seal(endpoint.secret.bytes, for: .secret(of: endpoint.id, tenant: endpoint.tenant))
            try await client.of(endpoint.tenant).query(
                """
                -- endpoints.add
                WITH added AS (
                    INSERT INTO webhook_endpoints (
                        tenant_id, id, url, events, sealed_secret, created_at, sealed_identity, server_trust
                    )
                    VALUES (
                        \(endpoint.tenant), \(endpoint.id), \(endpoint.url.description), \(endpoint.events), \(sealed),
                        \(endpoint.createdAt), \(try sealedIdentity(of: endpoint)), \(endpoint.storedTrust)
                    )
                    RETURNING id
                ), \(Query.audited(.addEndpoint, endpoint.id.description, of: endpoint.tenant, when: "added"))
                SELECT 1 FROM added
                """
            )
        }
    }

    package func endpoint(
        _ id: WebhookEndpoint.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> WebhookEndpoint? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.find
                SELECT \(Self.columns)
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant) AND id = \(id)
                """
            )
            return try rows.first.map { try endpoint($0, of: tenant) }
        }
    }

    package func endpoints(of tenant: Tenant.ID) async throws(StoreError) -> [WebhookEndpoint] {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.list
                SELECT \(Self.columns)
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant)
                ORDER BY id
                """
            )
            return try rows.map { try endpoint($0, of: tenant) }
        }
    }

    package func update(
        _ endpoint: WebhookEndpoint,
        rotation: String?
    ) async throws(StoreError) -> WebhookEndpoint? {
        let changed = try await StoreError.wrap {
            let (id, tenant) = (endpoint.id, endpoint.tenant)
            let previous = try endpoint.previousSecret.map {
                try ring.seal($0.secret.bytes, for: .previousSecret(of: id, tenant: tenant))
            }
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.update
                WITH changed AS (
                UPDATE webhook_endpoints
                SET url = \(endpoint.url.description), events = \(endpoint.events),
                    events_changed_at = CASE WHEN events = \(endpoint.events) THEN events_changed_at ELSE now() END,
                    sealed_secret = \(try ring.seal(endpoint.secret.bytes, for: .secret(of: id, tenant: tenant))),
                    sealed_previous_secret = \(previous), previous_until = \(endpoint.previousSecret?.until),
                    sealed_identity = \(try sealedIdentity(of: endpoint)), server_trust = \(endpoint.storedTrust),
                    failing_since = \(endpoint.failingSince), disabled_at = \(endpoint.disabling?.at),
                    disabled_reason = \(endpoint.disabling?.reason), version = version + 1,
                    rotation = coalesce(\(rotation), rotation),
                    rotated_at = CASE WHEN \(rotation)::text IS NULL THEN rotated_at ELSE now() END
                WHERE tenant_id = \(tenant) AND id = \(id) AND version = \(endpoint.version)
                RETURNING *
                ), \(Query.audited(.changeEndpoint, id.description, of: tenant, when: "changed"))
                SELECT \(Self.columns) FROM changed
                """
            )
            return try rows.first.map { try self.endpoint($0, of: tenant) }
        }
        if changed?.disabling != nil { try await abandonDeliveries(to: endpoint.id, of: endpoint.tenant) }
        return changed
    }

    package func remove(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.remove
                WITH removed AS (
                    DELETE FROM webhook_endpoints WHERE tenant_id = \(tenant) AND id = \(id) RETURNING id
                ), abandoned AS (
                    UPDATE webhook_deliveries
                    SET state = 'abandoned'
                    WHERE tenant_id = \(tenant) AND endpoint_id = \(id) AND state = 'pending'
                ), \(Query.audited(.removeEndpoint, id.description, of: tenant, when: "removed"))
                SELECT id FROM removed
                """
            )
            return !rows.isEmpty
        }
    }

    // MARK: Rows

    private static let columns: Query = """
        id, url, events, sealed_secret, created_at, sealed_previous_secret, previous_until, failing_since, disabled_at,
        disabled_reason, version,
        CASE WHEN rotated_at > now() - interval '24 hours' THEN rotation END, sealed_identity, server_trust
        """

    private func sealedIdentity(of endpoint: WebhookEndpoint) throws -> [UInt8]? {
        try endpoint.clientIdentity?.secretBytes.map {
            try ring.seal($0, for: .identity(of: endpoint.id, tenant: endpoint.tenant))
        }
    }

    private func endpoint(_ row: Row, of tenant: Tenant.ID) throws -> WebhookEndpoint {
        let id = try row.decode(WebhookEndpoint.ID.self, at: 0)
        let secret = try ring.open(try row.decode(at: 3), for: .secret(of: id, tenant: tenant))
        var endpoint = WebhookEndpoint(
            id: id,
            tenant: tenant,
            url: try URLRecord(try row.decode(String.self, at: 1)),
            events: try row.decode(at: 2),
            secret: WebhookSecret(bytes: secret),
            createdAt: try row.decode(at: 4)
        )
        if let sealed = try row.decode([UInt8]?.self, at: 5), let until = try row.decode(Timestamp?.self, at: 6) {
            let previous = try ring.open(sealed, for: .previousSecret(of: id, tenant: tenant))
            // An ended secret is not shown, whenever its row is written again.
            endpoint.previousSecret =
                until > .now ? .init(secret: WebhookSecret(bytes: previous), until: until) : nil
        }
        endpoint.failingSince = try row.decode(at: 7)
        if let at = try row.decode(Timestamp?.self, at: 8) {
            endpoint.disabling = .init(at: at, reason: try row.decode(at: 9))
        }
        endpoint.version = try row.decode(at: 10)
        endpoint.rotation = try row.decode(at: 11)
        if let sealed = try row.decode([UInt8]?.self, at: 12) {
            let bytes = try ring.open(sealed, for: .identity(of: id, tenant: tenant))
            endpoint.clientIdentity = try ClientIdentity(secretBytes: bytes)
        }
        if let trust = try row.decode(RawJSON?.self, at: 13) {
            endpoint.serverTrust = try Configuration.ServerTrust(stored: JSONParser.parse(trust.bytes))
        }
        return endpoint
    }
}

extension WebhookEndpoint {
    /// Nil for the system's trust.
    fileprivate var storedTrust: RawJSON? { serverTrust == .init() ? nil : serverTrust.json }
}

extension WebhookEndpoint.DisablingReason: PostgresValue {}

extension KeyRing.Place {
    static func secret(of endpoint: WebhookEndpoint.ID, tenant: Tenant.ID) -> Self {
        Self(table: "webhook_endpoints", column: "sealed_secret", tenant: tenant.rawValue, row: endpoint.description)
    }

    static func identity(of endpoint: WebhookEndpoint.ID, tenant: Tenant.ID) -> Self {
        Self(table: "webhook_endpoints", column: "sealed_identity", tenant: tenant.rawValue, row: endpoint.description)
    }

    static func previousSecret(of endpoint: WebhookEndpoint.ID, tenant: Tenant.ID) -> Self {
        Self(
            table: "webhook_endpoints", column: "sealed_previous_secret", tenant: tenant.rawValue,
            row: endpoint.description)
    }
}
