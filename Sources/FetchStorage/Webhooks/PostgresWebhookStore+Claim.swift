package import FetchJobs
import Postgres

extension PostgresWebhookStore {
    package func claimDeliveries(_ room: DeliveryRoom) async throws(StoreError) -> [WebhookDelivery] {
        let tenants = room.underWayOfTenants.map { (tenant: $0.key, count: Int32(clamping: $0.value)) }
        let held = room.endpoints.map {
            (id: $0.key, count: Int32(clamping: $0.value.count), limit: Int32(clamping: $0.value.limit))
        }
        let slotsPerEndpoint = Int32(clamping: room.slotsPerEndpoint)
        let trace: Query =
            client.isSharded
            ? "NULL::json"
            : "(SELECT j.spec -> 'trace' FROM jobs j WHERE j.tenant_id = d.tenant_id AND j.id = d.job_id)"
        return try await StoreError.wrap {
            let rows = try await client.transaction { connection in
                // One node after the other, each in a statement that sees the deliveries that those before it have
                // taken. The time is that of the statement: its transaction may have begun before those, and what they
                // took would be taken later than "now".
                try await connection.query(
                    """
                    -- deliveries.lock
                    SELECT pg_advisory_xact_lock(hashtext('deliveries.claim'))
                    """
                )
                return try await connection.query(
                    """
                    -- deliveries.claim
                    WITH RECURSIVE waiting AS (
                        -- One step in the index for each endpoint that something is on its way to, however much it is.
                        (
                            SELECT tenant_id, endpoint_id
                            FROM webhook_deliveries
                            WHERE state = 'pending'
                            ORDER BY tenant_id, endpoint_id
                            LIMIT 1
                        )
                        UNION ALL
                        SELECT next.tenant_id, next.endpoint_id
                        FROM waiting w
                        CROSS JOIN LATERAL (
                            SELECT d.tenant_id, d.endpoint_id
                            FROM webhook_deliveries d
                            WHERE d.state = 'pending' AND (d.tenant_id, d.endpoint_id) > (w.tenant_id, w.endpoint_id)
                            ORDER BY d.tenant_id, d.endpoint_id
                            LIMIT 1
                        ) AS next
                    ), room AS MATERIALIZED (
                        SELECT w.tenant_id, w.endpoint_id, health.is_failing, busy.deliveries AS taken,
                            coalesce(own.deliveries, 0) AS taken_of_tenant, t.weight,
                            CASE
                                WHEN health.is_failing THEN 1
                                -- One node alone may have the next ones at hand.
                                WHEN busy.deliveries <= coalesce(held.deliveries, 0)
                                    THEN coalesce(held.places, \(slotsPerEndpoint))
                                WHEN 2 * (busy.deliveries - coalesce(held.deliveries, 0)) < \(slotsPerEndpoint)
                                    THEN \(slotsPerEndpoint)
                                -- Who has half of them gets the others.
                                ELSE 0
                            END - busy.deliveries AS places
                        FROM waiting w
                        CROSS JOIN LATERAL (SELECT t.weight FROM tenants t WHERE t.id = w.tenant_id OFFSET 0) AS t
                        LEFT JOIN LATERAL (
                            SELECT e.failing_since, e.disabled_at
                            FROM webhook_endpoints e
                            WHERE e.tenant_id = w.tenant_id AND e.id = w.endpoint_id
                            OFFSET 0
                        ) AS e ON true
                        CROSS JOIN LATERAL (
                            SELECT (e.failing_since IS NOT NULL OR w.endpoint_id = ANY (\(Array(room.slow))))
                                AND e.disabled_at IS NULL AS is_failing
                        ) AS health
                        CROSS JOIN LATERAL (
                            -- Those that nodes have: a claim lasts a minute, and no wait is as long. The order is that
                            -- of the index of what waits; any other one leads through all that the endpoint has had.
                            SELECT count(*) AS deliveries
                            FROM (
                                SELECT d.next_attempt_at, d.last_attempt_at
                                FROM webhook_deliveries d
                                WHERE d.tenant_id = w.tenant_id AND d.endpoint_id = w.endpoint_id
                                    AND d.state = 'pending' AND d.next_attempt_at > statement_timestamp()
                                    AND d.next_attempt_at <= statement_timestamp() + interval '60 seconds'
                                ORDER BY d.next_attempt_at, d.id
                                OFFSET 0
                            ) AS d
                            WHERE d.next_attempt_at = d.last_attempt_at + interval '60 seconds'
                        ) AS busy
                        LEFT JOIN unnest(\(tenants.map(\.tenant)), \(tenants.map(\.count))) AS own (tenant_id, deliveries)
                            ON own.tenant_id = w.tenant_id
                        LEFT JOIN unnest(
                            \(held.map(\.id)), \(held.map(\.count)), \(held.map(\.limit))
                        ) AS held (endpoint_id, deliveries, places)
                            ON held.endpoint_id = w.endpoint_id
                    ), next AS MATERIALIZED (
                        -- Of many endpoints with many deliveries, only the first of each is looked at.
                        SELECT r.*, row_number() OVER (
                                PARTITION BY r.tenant_id ORDER BY r.is_failing, r.taken, first.next_attempt_at
                            ) AS turn,
                            count(*) OVER (PARTITION BY r.tenant_id) AS endpoints
                        FROM room r
                        CROSS JOIN LATERAL (
                            SELECT d.next_attempt_at
                            FROM webhook_deliveries d
                            WHERE d.tenant_id = r.tenant_id AND d.endpoint_id = r.endpoint_id AND \(Self.isDue)
                            ORDER BY d.next_attempt_at, d.id
                            LIMIT 1
                        ) AS first
                        WHERE r.places > 0
                    ), candidate AS MATERIALIZED (
                        SELECT found.tenant_id, found.id, found.next_attempt_at, r.is_failing, r.weight, r.taken_of_tenant,
                            r.taken - 1 + row_number() OVER (
                                PARTITION BY r.tenant_id, r.endpoint_id ORDER BY found.next_attempt_at
                            ) AS before_of_endpoint
                        FROM next r
                        CROSS JOIN LATERAL (
                            SELECT d.tenant_id, d.id, d.next_attempt_at
                            FROM webhook_deliveries d
                            WHERE d.tenant_id = r.tenant_id AND d.endpoint_id = r.endpoint_id AND \(Self.isDue)
                            ORDER BY d.next_attempt_at, d.id
                            -- Twice as many of a tenant as there are slots, whatever the number of its endpoints.
                            LIMIT least(r.places, greatest(1, \(2 * Int64(room.slots)) / r.endpoints))
                        ) AS found
                        WHERE r.turn <= \(2 * Int64(room.slots))
                    ), turn AS (
                        SELECT tenant_id, id, next_attempt_at, is_failing, weight, before_of_endpoint,
                            taken_of_tenant - 1 + row_number() OVER (
                                PARTITION BY tenant_id ORDER BY is_failing, before_of_endpoint, next_attempt_at
                            ) AS before_of_tenant
                        FROM candidate
                    ), place AS MATERIALIZED (
                        SELECT tenant_id, id, is_failing, weight, before_of_endpoint, before_of_tenant,
                            row_number() OVER (
                                ORDER BY is_failing, before_of_tenant / weight, before_of_endpoint, next_attempt_at
                            ) AS number,
                            row_number() OVER (PARTITION BY is_failing ORDER BY before_of_tenant / weight) AS number_of_kind
                        FROM turn
                    ), due AS MATERIALIZED (
                        -- One by one, so that no more are locked than are taken, whatever the planner thinks of their
                        -- number.
                        SELECT free.row_id, free.tenant_id, free.id, c.is_failing
                        FROM (
                            SELECT tenant_id, id, is_failing
                            FROM place
                            WHERE (number_of_kind <= \(Int64(room.slotsForFailing)) OR NOT is_failing)
                                -- As many are left as the tenant has, and twice as many as the endpoint has beside: whoever
                                -- comes next finds some, however many hold theirs until they time out.
                                AND before_of_tenant + 2 * before_of_endpoint
                                    < weight * (\(Int64(room.slots)) - number + 1) * CASE WHEN is_failing THEN 0.75 ELSE 1 END
                            ORDER BY number
                        ) AS c
                        CROSS JOIN LATERAL (
                            -- By its key alone: to look for it among all that wait costs the more, the more wait.
                            SELECT d.ctid AS row_id, d.tenant_id, d.id, d.state, d.next_attempt_at
                            FROM webhook_deliveries d
                            WHERE d.tenant_id = c.tenant_id AND d.id = c.id
                            LIMIT 1
                            FOR UPDATE SKIP LOCKED
                        ) AS free
                        WHERE free.state = 'pending' AND free.next_attempt_at <= statement_timestamp()
                        LIMIT \(room.slots)
                    ), claimed AS (
                        UPDATE webhook_deliveries d
                        SET next_attempt_at = statement_timestamp() + interval '60 seconds',
                            last_attempt_at = statement_timestamp(), attempts = d.attempts + 1
                        WHERE d.ctid = ANY (ARRAY(SELECT row_id FROM due))
                        RETURNING d.*
                    )
                    SELECT \(Self.deliveryColumns), due.is_failing, d.data,
                        \(trace), e.*
                    FROM claimed d
                    JOIN due ON due.tenant_id = d.tenant_id AND due.id = d.id
                    LEFT JOIN LATERAL (
                        SELECT \(Self.columns)
                        FROM webhook_endpoints
                        WHERE tenant_id = d.tenant_id AND id = d.endpoint_id
                        OFFSET 0
                    ) AS e ON true
                    """
                )
            }
            var deliveries = try deliveries(rows)
            try await addTraces(to: &deliveries)
            return deliveries
        }
    }

    /// Reads the traces of jobs that are on other servers than their deliveries.
    ///
    /// A message without its trace is better than none: those of a server that does not answer go on without.
    private func addTraces(to deliveries: inout [WebhookDelivery]) async throws {
        let jobs = deliveries.compactMap { if case .job(let id) = $0.subject { id } else { nil } }
        guard client.isSharded, !jobs.isEmpty else { return }
        do {
            let rows = try await client.query(
                """
                -- deliveries.traces
                SELECT j.id, j.spec -> 'trace'
                FROM jobs j
                WHERE j.tenant_id = ANY (\(Array(Set(deliveries.map(\.tenant))))) AND j.id = ANY (\(jobs))
                    AND j.spec -> 'trace' IS NOT NULL
                """
            )
            let traces = try rows.map { (try $0.decode(Job.ID.self, at: 0), try $0.decode(RawJSON.self, at: 1)) }
            let known = Dictionary(traces, uniquingKeysWith: { first, _ in first })
            for index in deliveries.indices {
                guard case .job(let id) = deliveries[index].subject else { continue }
                deliveries[index].trace = known[id].flatMap { TraceContext(stored: $0) }
            }
        } catch let error as PostgresError where error.code == .shardUnavailable {}
    }

    private func deliveries(_ rows: Rows) throws -> [WebhookDelivery] {
        var endpoints: [WebhookEndpoint.ID: WebhookEndpoint] = [:]
        return try rows.map { row in
            // The claim has counted the attempt that follows.
            var delivery = try WebhookDelivery(row: row, attemptsUnderWay: 1, endpointIsFailing: row.decode(at: 11))
            delivery.data = try row.decode(at: 12)
            delivery.trace = try row.decode(RawJSON?.self, at: 13).flatMap { TraceContext(stored: $0) }
            if try row.decode(WebhookEndpoint.ID?.self, at: 14) != nil {
                // Many are to one endpoint, which is opened once. One that cannot be opened holds up no other: whoever
                // reads it alone is told why.
                let known = endpoints[delivery.endpoint] ?? (try? endpoint(row, of: delivery.tenant, at: 14))
                endpoints[delivery.endpoint] = known
                delivery.receiver = known
            }
            return delivery
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

    /// The condition for a delivery `d` that may be claimed now.
    private static let isDue: Query = """
        d.state = 'pending' AND d.next_attempt_at <= statement_timestamp()
            -- A session's own events come after those of its jobs, and its end comes last.
            AND (d.job_id IS NOT NULL OR d.event = ANY (\(WebhookEvent.allCases.filter(\.isOfStores))) OR NOT EXISTS (
                SELECT FROM webhook_deliveries e
                WHERE e.tenant_id = d.tenant_id AND e.session_id = d.session_id AND e.state = 'pending'
                    AND (e.job_id IS NOT NULL OR d.event = \(WebhookEvent.sessionInvalidated) AND e.event <> d.event)
            ))
            -- The events of a job go one after the other, and its end comes last.
            AND (d.job_id IS NULL OR NOT EXISTS (
                SELECT FROM webhook_deliveries e
                WHERE e.tenant_id = d.tenant_id AND e.job_id = d.job_id AND e.id < d.id
                    AND e.endpoint_id = d.endpoint_id AND e.state = 'pending' AND e.data IS NOT NULL
            ))
        """

    static let deliveryColumns: Query = """
        d.id, d.tenant_id, d.endpoint_id, d.job_id, d.session_id, d.about_endpoint_id, d.event, d.created_at, d.attempts,
        d.replayed_after, d.group_id
        """
}

extension WebhookDelivery {
    /// Reads the columns of ``PostgresWebhookStore/deliveryColumns``, the first eleven.
    init(row: Row, attemptsUnderWay: Int, endpointIsFailing: Bool = false) throws {
        let attempts = Int(try row.decode(Int16.self, at: 8)) - attemptsUnderWay
        let subject: Subject
        if let job = try row.decode(Job.ID?.self, at: 3) {
            subject = .job(job)
        } else if let session = try row.decode(TenantSession.ID?.self, at: 4) {
            subject = .session(session)
        } else if let group = try row.decode(JobGroup.ID?.self, at: 10) {
            subject = .group(group)
        } else {
            subject = .endpoint(try row.decode(at: 5))
        }
        self.init(
            id: try row.decode(at: 0),
            tenant: try row.decode(at: 1),
            endpoint: try row.decode(at: 2),
            subject: subject,
            event: try row.decode(at: 6),
            createdAt: try row.decode(at: 7),
            attempts: attempts,
            failures: max(0, attempts - Int(try row.decode(Int16.self, at: 9))),
            endpointIsFailing: endpointIsFailing
        )
    }
}
