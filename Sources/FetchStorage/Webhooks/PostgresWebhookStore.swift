import FetchEngine
package import FetchJobs
package import Postgres

/// Webhook endpoints and deliveries in PostgreSQL; signing secrets are sealed.
package struct PostgresWebhookStore: WebhookStore, DeliveryQueue {
    /// How long outcomes gather while there are many.
    private static let interval = Duration.milliseconds(10)
    /// How often one request makes way for others that make another endpoint the default one.
    private static let maximumTries = 100

    let client: Client
    let genericPlan: Client
    private let ring: KeyRing
    let settling: Batcher<DeliverySettlement, Bool>
    let adding: Batcher<RunEvent, Void>
    private let listing: Batcher<EndpointKey, [WebhookEvent]>
    /// Called when deliveries became due that were not.
    let onDue: @Sendable () -> Void

    /// - Parameters:
    ///   - genericPlan: The connections for statements that find what they need by keys; nil for the same.
    ///   - onDue: Called when deliveries became due that were not.
    package init(
        client: Client, genericPlan: Client? = nil, ring: KeyRing, onDue: @escaping @Sendable () -> Void = {}
    ) {
        let genericPlan = genericPlan ?? client
        self.client = client
        self.genericPlan = genericPlan
        self.ring = ring
        self.onDue = onDue
        // An outcome that is stored a little later costs nobody anything, and one statement for each costs much.
        settling = Batcher(maximumItems: 200, interval: Self.interval) { try await Self.settle($0, client: client) }
        listing = Batcher(maximumItems: 500, interval: Self.interval) { try await Self.events($0, client: genericPlan) }
        adding = Batcher(maximumItems: 200) { events in
            try await Self.add(events, client: client)
            return events.map { _ in }
        }
    }

    @discardableResult
    package func add(_ endpoint: WebhookEndpoint) async throws(StoreError) -> Bool {
        try await storing {
            let sealed = try ring.seal(endpoint.secret.bytes, for: .secret(of: endpoint.id, tenant: endpoint.tenant))
            return try await client.of(endpoint.tenant).query(
                """
                -- endpoints.add
                WITH room AS MATERIALIZED (
                    \(Self.hasRoom(of: endpoint.tenant))
                ), \(Self.formerDefault(before: endpoint, when: "(SELECT is_there FROM room)")), added AS (
                    INSERT INTO webhook_endpoints (
                        tenant_id, id, url, events, is_default, sealed_secret, created_at, sealed_identity, server_trust
                    )
                    SELECT \(endpoint.tenant), \(endpoint.id), \(endpoint.url?.description), \(endpoint.events),
                        \(endpoint.isDefault) AND former.count >= 0, \(sealed), \(endpoint.createdAt),
                        \(try sealedIdentity(of: endpoint)), \(endpoint.storedTrust)
                    FROM (SELECT count(*) FROM former) AS former, room
                    WHERE room.is_there
                    RETURNING id
                ), \(Query.audited(.addEndpoint, endpoint.id.description, of: endpoint.tenant, when: "added"))
                SELECT 1 FROM added
                """
            ).affected > 0
        }
    }

    package func hasRoom(of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.room
                \(Self.hasRoom(of: tenant))
                """
            )
            return try rows.first?.decode(at: 0) ?? false
        }
    }

    private static func hasRoom(of tenant: Tenant.ID) -> Query {
        """
        SELECT count(*) < \(Int64(WebhookEndpoint.maximumCount)) AS is_there
        FROM webhook_endpoints
        WHERE tenant_id = \(tenant)
        """
    }

    /// The part of a statement, named `former`, that makes the endpoint no default any more that was it before this one.
    ///
    /// Whoever makes this one the default reads its rows first: of a tenant one at a time can be.
    ///
    /// - Parameter condition: What has to be so besides.
    private static func formerDefault(before endpoint: WebhookEndpoint, when condition: Query = "true") -> Query {
        """
        former AS (
            UPDATE webhook_endpoints
            SET is_default = false, version = version + 1
            WHERE tenant_id = \(endpoint.tenant) AND id <> \(endpoint.id) AND is_default AND \(endpoint.isDefault)
                AND \(condition)
            RETURNING id
        )
        """
    }

    /// Runs a statement that may make an endpoint the default one; again each time that another became it meanwhile.
    private func storing<Value>(_ statement: () async throws -> Value) async throws(StoreError) -> Value {
        try await StoreError.wrap {
            for _ in 0..<Self.maximumTries {
                do { return try await statement() } catch let error as PostgresError
                    where error.constraint == "webhook_endpoints_default"
                {}
            }
            return try await statement()
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

    package func events(
        of endpoint: WebhookEndpoint.ID, _ tenant: Tenant.ID
    ) async throws(StoreError) -> [WebhookEvent] {
        try await StoreError.wrap {
            try await listing.submit([EndpointKey(tenant: tenant, id: endpoint)]).first ?? []
        }
    }

    private static func events(_ keys: [EndpointKey], client: Client) async throws -> [[WebhookEvent]] {
        let rows = try await client.query(
            """
            -- endpoints.events
            SELECT e.events
            FROM unnest(\(keys.map(\.tenant)), \(keys.map(\.id))) WITH ORDINALITY AS asked (tenant_id, id, number)
            LEFT JOIN LATERAL (
                SELECT e.events
                FROM webhook_endpoints e
                WHERE e.tenant_id = asked.tenant_id AND e.id = asked.id
                OFFSET 0
            ) AS e ON true
            ORDER BY asked.number
            """
        )
        return try rows.map { try $0.decode([WebhookEvent]?.self, at: 0) ?? [] }
    }

    package func endpointID(
        _ search: EndpointSearch, of tenant: Tenant.ID
    ) async throws(StoreError) -> WebhookEndpoint.ID? {
        let condition: Query =
            switch search {
            case .url(let url): "url = \(url.description) AND disabled_at IS NULL"
            case .polledDefault: "is_default AND url IS NULL"
            case .lowerHalf(let half, let time):
                "substring(uuid_send(id) FROM 9) = \(half.bytes) AND created_at > \(time)"
            }
        return try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- endpoints.search
                SELECT id
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant) AND \(condition)
                ORDER BY id
                LIMIT 1
                """
            ).first?.decode(at: 0)
        }
    }

    package func endpoints(
        of tenant: Tenant.ID, after last: WebhookEndpoint.ID?, limit: Int
    ) async throws(StoreError) -> [WebhookEndpoint] {
        let start = last ?? WebhookEndpoint.ID(UUIDv7(high: 0, low: 0))
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.list
                SELECT \(Self.columns)
                FROM webhook_endpoints
                WHERE tenant_id = \(tenant) AND id > \(start)
                ORDER BY id
                LIMIT \(limit)
                """
            )
            return try rows.map { try endpoint($0, of: tenant) }
        }
    }

    package func update(
        _ endpoint: WebhookEndpoint,
        rotation: String?
    ) async throws(StoreError) -> WebhookEndpoint? {
        let changed = try await storing {
            let (id, tenant) = (endpoint.id, endpoint.tenant)
            let previous = try endpoint.previousSecret.map {
                try ring.seal($0.secret.bytes, for: .previousSecret(of: id, tenant: tenant))
            }
            let rows = try await client.of(tenant).query(
                """
                -- endpoints.update
                WITH \(Self.formerDefault(before: endpoint)), changed AS (
                UPDATE webhook_endpoints
                SET is_default = \(endpoint.isDefault) AND (SELECT count(*) FROM former) >= 0, url = \(endpoint.url?.description), events = \(endpoint.events),
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

    static let columns: Query = """
        id, url, events, sealed_secret, created_at, sealed_previous_secret, previous_until, failing_since, disabled_at,
        disabled_reason, version,
        CASE WHEN rotated_at > now() - interval '24 hours' THEN rotation END, sealed_identity, server_trust,
        is_default
        """

    private func sealedIdentity(of endpoint: WebhookEndpoint) throws -> [UInt8]? {
        try endpoint.clientIdentity?.secretBytes.map {
            try ring.seal($0, for: .identity(of: endpoint.id, tenant: endpoint.tenant))
        }
    }

    /// Reads ``columns``.
    ///
    /// - Parameter start: Which column is the first of them.
    func endpoint(_ row: Row, of tenant: Tenant.ID, at start: Int = 0) throws -> WebhookEndpoint {
        let id = try row.decode(WebhookEndpoint.ID.self, at: start)
        let secret = try ring.open(try row.decode(at: start + 3), for: .secret(of: id, tenant: tenant))
        var endpoint = WebhookEndpoint(
            id: id,
            tenant: tenant,
            url: try row.decode(String?.self, at: start + 1).map { try URLRecord($0) },
            events: try row.decode(at: start + 2),
            secret: WebhookSecret(bytes: secret),
            createdAt: try row.decode(at: start + 4)
        )
        if let sealed = try row.decode([UInt8]?.self, at: start + 5),
            let until = try row.decode(Timestamp?.self, at: start + 6)
        {
            let previous = try ring.open(sealed, for: .previousSecret(of: id, tenant: tenant))
            // An ended secret is not shown, whenever its row is written again.
            endpoint.previousSecret =
                until > .now ? .init(secret: WebhookSecret(bytes: previous), until: until) : nil
        }
        endpoint.failingSince = try row.decode(at: start + 7)
        if let at = try row.decode(Timestamp?.self, at: start + 8) {
            endpoint.disabling = .init(at: at, reason: try row.decode(at: start + 9))
        }
        endpoint.version = try row.decode(at: start + 10)
        endpoint.rotation = try row.decode(at: start + 11)
        if let sealed = try row.decode([UInt8]?.self, at: start + 12) {
            let bytes = try ring.open(sealed, for: .identity(of: id, tenant: tenant))
            endpoint.clientIdentity = try ClientIdentity(secretBytes: bytes)
        }
        if let trust = try row.decode(RawJSON?.self, at: start + 13) {
            endpoint.serverTrust = try Configuration.ServerTrust(stored: JSONParser.parse(trust.bytes))
        }
        endpoint.isDefault = try row.decode(at: start + 14)
        return endpoint
    }
}

extension WebhookEndpoint {
    /// Nil for the system's trust.
    fileprivate var storedTrust: RawJSON? { serverTrust == .init() ? nil : serverTrust.json }
}

extension WebhookEndpoint.DisablingReason: PostgresValue {}

extension UInt64 {
    /// The eight bytes, the highest first.
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

/// Which endpoint.
private struct EndpointKey: Sendable {
    let tenant: Tenant.ID
    let id: WebhookEndpoint.ID
}

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
