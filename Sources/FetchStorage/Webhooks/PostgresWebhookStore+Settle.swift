package import FetchJobs
import Postgres

/// The result of a claimed delivery.
struct DeliverySettlement: Sendable {
    let delivery: WebhookDelivery
    /// Nil when nothing was sent.
    let verdict: DeliveryVerdict?
    let attempt: DeliveryAttempt?

    fileprivate var state: DeliveryState {
        switch verdict {
        case .delivered?: .delivered
        case .again?, nil: .pending
        case .abandoned?: .abandoned
        }
    }

    /// There for readers of an endpoint that has no URL.
    fileprivate var isPolled: Bool { verdict == .delivered && attempt == nil }

    fileprivate var wait: Duration { if case .again(let wait) = verdict { wait } else { .zero } }

    fileprivate var status: Int16? { attempt?.answer.map { Int16(clamping: $0.status) } }
}

extension PostgresWebhookStore {
    package func settle(
        _ delivery: WebhookDelivery,
        _ verdict: DeliveryVerdict,
        _ attempt: DeliveryAttempt?
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await settling.submit([.init(delivery: delivery, verdict: verdict, attempt: attempt)]).first ?? false
        }
    }

    package func release(_ deliveries: [WebhookDelivery]) async throws(StoreError) {
        guard !deliveries.isEmpty else { return }
        try await StoreError.wrap {
            _ = try await settling.submit(deliveries.map { .init(delivery: $0, verdict: nil, attempt: nil) })
        }
        onDue()
    }

    /// Stores verdicts and attempts, and updates their endpoints, in one statement.
    ///
    /// - Returns: For each, whether its endpoint was disabled.
    static func settle(_ settlements: [DeliverySettlement], client: Client) async throws -> [Bool] {
        let hasPolled = settlements.contains(where: \.isPolled)
        let rows = try await client.query(
            """
            -- deliveries.settle
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(settlements.map(\.delivery.tenant)),
                    \(settlements.map(\.delivery.id)),
                    \(settlements.map(\.delivery.endpoint)),
                    \(settlements.map { Int16(clamping: $0.delivery.attempts + 1) }),
                    \(settlements.map(\.state)),
                    \(settlements.map { $0.verdict == nil }),
                    \(settlements.map(\.wait)),
                    \(settlements.map(\.attempt?.startedAt)),
                    \(settlements.map(\.attempt?.duration)),
                    \(settlements.map(\.attempt?.url)),
                    \(settlements.map(\.attempt?.requestHeaders)),
                    \(settlements.map(\.status)),
                    \(settlements.map(\.attempt?.answer?.headers)),
                    \(settlements.map(\.attempt?.answer?.body)),
                    \(settlements.map { $0.attempt?.answer?.isCut ?? false }),
                    \(settlements.map(\.attempt?.errorName)),
                    \(settlements.map(\.isPolled))
                ) AS input (
                    tenant_id, id, endpoint_id, number, state, is_unsent, wait, started_at, duration, url, request_headers,
                    status, response_headers, body, body_is_cut, error_name, is_polled
                )
            )\(hasPolled ? Self.places : ""), settled AS (
                UPDATE webhook_deliveries d
                SET state = i.state, next_attempt_at = now() + i.wait,
                    endpoint_place = \(hasPolled ? Self.place : "d.endpoint_place"),
                    last_status = CASE WHEN i.is_unsent THEN d.last_status ELSE i.status END,
                    attempts = CASE WHEN i.is_unsent THEN d.attempts - 1 ELSE d.attempts END,
                    last_attempt_at = CASE WHEN i.is_unsent AND d.attempts = 1 THEN NULL ELSE d.last_attempt_at END
                FROM input i
                WHERE d.tenant_id = i.tenant_id AND d.id = i.id AND d.attempts = i.number
                    -- What was taken is taken, even if it was given up meanwhile.
                    AND (d.state = 'pending' OR d.state = 'abandoned' AND i.state = 'delivered')
                    -- Only who has it gives it back.
                    AND (NOT i.is_unsent OR d.next_attempt_at > now())
            ), attempt AS (
                INSERT INTO webhook_attempts (
                    tenant_id, delivery_id, number, started_at, duration, url, request_headers, status,
                    response_headers, body, body_is_cut, error_name
                )
                SELECT tenant_id, id, number, started_at, duration, url, request_headers, status, response_headers, body,
                    body_is_cut, error_name
                FROM input
                WHERE started_at IS NOT NULL
                ON CONFLICT DO NOTHING
            ), health AS (
                SELECT tenant_id, endpoint_id, bool_or(state = 'delivered') AS takes,
                    bool_or(status IS NOT DISTINCT FROM 410::smallint) AS is_gone
                FROM input
                WHERE started_at IS NOT NULL
                GROUP BY tenant_id, endpoint_id
            ), changed AS MATERIALIZED (
                SELECT e.tenant_id, e.id, h.takes,
                    CASE
                        WHEN e.disabled_at IS NOT NULL THEN NULL
                        WHEN h.is_gone THEN \(WebhookEndpoint.DisablingReason.gone)
                        WHEN NOT h.takes AND e.failing_since < now() - \(WebhookEndpoint.patience)
                            THEN \(WebhookEndpoint.DisablingReason.failing)
                    END AS reason
                FROM webhook_endpoints e
                JOIN health h ON h.tenant_id = e.tenant_id AND h.endpoint_id = e.id
                WHERE h.takes = (e.failing_since IS NOT NULL) OR h.is_gone
                    OR e.failing_since < now() - \(WebhookEndpoint.patience)
                -- In one order, so that two of these cannot wait for each other.
                ORDER BY e.tenant_id, e.id
                FOR UPDATE OF e
            ), endpoint AS (
                UPDATE webhook_endpoints e
                SET failing_since = CASE WHEN c.takes THEN NULL ELSE coalesce(e.failing_since, now()) END,
                    disabled_at = CASE WHEN c.reason IS NULL THEN e.disabled_at ELSE now() END,
                    disabled_reason = coalesce(c.reason, e.disabled_reason),
                    version = e.version + 1
                FROM changed c
                WHERE e.tenant_id = c.tenant_id AND e.id = c.id
            ), event AS (
                INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, about_endpoint_id, event)
                SELECT o.tenant_id, uuidv7(), o.id, c.id, \(WebhookEvent.endpointDisabled)
                FROM changed c
                JOIN webhook_endpoints o ON o.tenant_id = c.tenant_id AND o.id <> c.id AND o.disabled_at IS NULL
                WHERE c.reason IS NOT NULL AND \(WebhookEvent.endpointDisabled) = ANY (o.events)
            )
            SELECT DISTINCT id FROM changed WHERE reason IS NOT NULL
            """
        )
        let disabled = Set(try rows.map { try $0.decode(WebhookEndpoint.ID.self, at: 0) })
        return settlements.map { disabled.contains($0.delivery.endpoint) }
    }

    /// Places for what is polled, behind those that there are: who writes some to an endpoint has its row, so that places
    /// are committed in their order, and who reads on from one misses none.
    private static let places: Query = """
        , polled AS MATERIALIZED (
            SELECT i.tenant_id, i.id, i.endpoint_id, row_number() OVER (
                PARTITION BY i.tenant_id, i.endpoint_id ORDER BY d.created_at, d.id
            ) AS number
            FROM input i
            JOIN webhook_deliveries d ON d.tenant_id = i.tenant_id AND d.id = i.id
            WHERE i.is_polled
        ), last_place AS MATERIALIZED (
            SELECT e.tenant_id, e.id, e.last_place
            FROM webhook_endpoints e
            JOIN (SELECT DISTINCT tenant_id, endpoint_id FROM polled) AS p
                ON p.tenant_id = e.tenant_id AND p.endpoint_id = e.id
            -- In one order, so that two of these cannot wait for each other.
            ORDER BY e.tenant_id, e.id
            FOR NO KEY UPDATE OF e
        ), placed AS (
            UPDATE webhook_endpoints e
            SET last_place = l.last_place + (
                SELECT count(*) FROM polled p WHERE p.tenant_id = l.tenant_id AND p.endpoint_id = l.id
            )
            FROM last_place l
            WHERE e.tenant_id = l.tenant_id AND e.id = l.id
        )
        """

    private static let place: Query = """
        CASE
            WHEN i.is_polled THEN (
                SELECT l.last_place + p.number
                FROM polled p
                JOIN last_place l ON l.tenant_id = p.tenant_id AND l.id = p.endpoint_id
                WHERE p.tenant_id = i.tenant_id AND p.id = i.id
            )
            ELSE d.endpoint_place
        END
        """

    package func abandonDeliveries(
        to endpoint: WebhookEndpoint.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) {
        let limit = 5000
        try await StoreError.wrap {
            while try await client.of(tenant).query(
                """
                -- deliveries.abandon
                UPDATE webhook_deliveries d
                SET state = 'abandoned'
                FROM (
                    SELECT d.id
                    FROM webhook_endpoints e
                    JOIN webhook_deliveries d ON d.tenant_id = e.tenant_id AND d.endpoint_id = e.id
                    WHERE e.tenant_id = \(tenant) AND e.id = \(endpoint) AND e.disabled_at IS NOT NULL
                        AND d.state = 'pending'
                    LIMIT \(limit)
                    FOR UPDATE OF d SKIP LOCKED
                ) AS waiting
                WHERE d.tenant_id = \(tenant) AND d.id = waiting.id
                """
            ).affected == limit {}
        }
    }
}

extension DeliveryState: PostgresValue, PostgresArrayElement {}
