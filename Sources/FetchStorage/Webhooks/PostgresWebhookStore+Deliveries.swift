package import FetchJobs
import Postgres

extension PostgresWebhookStore {
    package func deliveries(
        of tenant: Tenant.ID,
        matching filter: DeliveryFilter,
        page: DeliveryPage
    ) async throws(StoreError) -> [StoredDelivery] {
        let start = page.after ?? WebhookDelivery.ID(UUIDv7(high: .max, low: .max))
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- deliveries.list
                SELECT \(Self.deliveryColumns), \(Self.standing)
                FROM webhook_deliveries d
                WHERE d.tenant_id = \(tenant) AND d.id < \(start)\(Self.condition(filter))
                ORDER BY d.id DESC
                LIMIT \(page.limit)
                """
            )
            return try rows.map { try StoredDelivery(row: $0) }
        }
    }

    package func delivery(
        _ id: WebhookDelivery.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> StoredDelivery? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- deliveries.find
                SELECT \(Self.deliveryColumns), \(Self.standing)
                FROM webhook_deliveries d
                WHERE d.tenant_id = \(tenant) AND d.id = \(id)
                """
            )
            guard var delivery = try rows.first.map({ try StoredDelivery(row: $0) }) else { return nil }
            let attempts = try await client.of(tenant).query(
                """
                -- deliveries.attempts
                SELECT number, started_at, duration, url, request_headers, status, response_headers, body, body_is_cut,
                    error_name
                FROM webhook_attempts
                WHERE tenant_id = \(tenant) AND delivery_id = \(id)
                ORDER BY number
                """
            )
            delivery.attempts = try attempts.map { try DeliveryAttempt(row: $0) }
            return delivery
        }
    }

    // MARK: Tests

    package func test(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) async throws(StoreError) -> WebhookDelivery.ID? {
        let made: WebhookDelivery.ID? = try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- deliveries.test
                INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, about_endpoint_id, event)
                SELECT e.tenant_id, uuidv7(), e.id, e.id, \(WebhookEvent.endpointTest)
                FROM webhook_endpoints e
                WHERE e.tenant_id = \(tenant) AND e.id = \(id) AND e.disabled_at IS NULL
                RETURNING id
                """
            ).first?.decode(at: 0)
        }
        if made != nil { onDue() }
        return made
    }

    // MARK: Replaying

    package func replay(_ id: WebhookDelivery.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await replay("AND d.id = \(id)", of: tenant) > 0
    }

    package func replayFailed(
        of endpoint: WebhookEndpoint.ID,
        _ tenant: Tenant.ID,
        since: Timestamp
    ) async throws(StoreError) -> Int {
        var filter = DeliveryFilter()
        filter.endpoint = endpoint
        filter.state = .abandoned
        filter.since = since
        return try await replay(Self.condition(filter), of: tenant)
    }

    /// - Parameter condition: Which ones; of those, the deliveries to endpoints that get messages are sent again.
    private func replay(_ condition: Query, of tenant: Tenant.ID) async throws(StoreError) -> Int {
        let replayed = try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- deliveries.replay
                UPDATE webhook_deliveries d
                SET state = 'pending', next_attempt_at = now(), replayed_after = d.attempts
                FROM webhook_endpoints e
                WHERE d.tenant_id = \(tenant) AND e.tenant_id = d.tenant_id AND e.id = d.endpoint_id
                    AND e.disabled_at IS NULL
                    -- Attempts go on being counted, and a smallint holds them.
                    AND d.attempts < 32000
                    \(condition)
                """
            ).affected
        }
        if replayed > 0 { onDue() }
        return replayed
    }

    // MARK: Parts of statements

    /// One condition for each part of a filter that matters, so that each list has the index that is made for it.
    private static func condition(_ filter: DeliveryFilter) -> Query {
        var condition: Query = ""
        if let endpoint = filter.endpoint { condition = "\(condition) AND d.endpoint_id = \(endpoint)" }
        if let job = filter.job { condition = "\(condition) AND d.job_id = \(job)" }
        if let event = filter.event { condition = "\(condition) AND d.event = \(event)" }
        switch filter.state {
        case .abandoned?: condition = "\(condition) AND d.state = 'abandoned'"
        case .pending?: condition = "\(condition) AND d.state = 'pending'"
        case .delivered?: condition = "\(condition) AND d.state = 'delivered'"
        case nil: break
        }
        if let since = filter.since {
            // An id is made by a node, a little before its row or under another clock: it is good for leaving out most.
            let earliest = WebhookDelivery.ID(earliestAt: since.advanced(by: .seconds(-600)))
            condition = "\(condition) AND d.id >= \(earliest) AND d.created_at >= \(since)"
        }
        return condition
    }

    private static let standing: Query = "d.state, d.next_attempt_at, d.last_attempt_at, d.last_status"
}

extension StoredDelivery {
    fileprivate init(row: Row) throws {
        self.init(
            try WebhookDelivery(row: row, attemptsUnderWay: 0),
            state: try row.decode(at: 11),
            nextAttemptAt: try row.decode(at: 12),
            lastAttemptAt: try row.decode(at: 13),
            lastStatus: try row.decode(Int16?.self, at: 14).map { Int($0) }
        )
    }
}

extension DeliveryAttempt {
    fileprivate init(row: Row) throws {
        let result: Result
        if let status = try row.decode(Int16?.self, at: 5) {
            let body = try row.decode([UInt8]?.self, at: 7) ?? []
            let headers = try row.decode(RawJSON?.self, at: 6) ?? .array { _ in }
            result = .answer(
                .init(status: Int(status), headers: headers, body: body, isCut: try row.decode(at: 8)))
        } else {
            result = .error(name: try row.decode(at: 9))
        }
        self.init(
            number: Int(try row.decode(Int16.self, at: 0)),
            startedAt: try row.decode(at: 1),
            duration: try row.decode(at: 2),
            url: try row.decode(at: 3),
            requestHeaders: try row.decode(at: 4),
            result: result
        )
    }
}
