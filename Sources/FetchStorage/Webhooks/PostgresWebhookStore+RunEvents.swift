package import FetchJobs
import Postgres

extension PostgresWebhookStore {
    package func add(_ events: [RunEvent]) async throws(StoreError) {
        try await StoreError.wrap { _ = try await adding.submit(events) }
        onDue()
    }

    static func add(_ events: [RunEvent], client: Client) async throws {
        try await client.query(
            """
            -- deliveries.add
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, session_id, event, data)
            SELECT i.tenant_id, i.id, i.endpoint_id, i.job_id, i.session_id, i.event, i.data
            FROM unnest(
                \(events.map(\.tenant)),
                \(events.map(\.id)),
                \(events.map(\.endpoint)),
                \(events.map(\.job)),
                \(events.map(\.session)),
                \(events.map(\.event)),
                \(events.map(\.data))
            ) AS i (tenant_id, id, endpoint_id, job_id, session_id, event, data)
            JOIN webhook_endpoints e ON e.tenant_id = i.tenant_id AND e.id = i.endpoint_id
            WHERE e.disabled_at IS NULL
            -- Stored before its word of it was lost.
            ON CONFLICT DO NOTHING
            """
        )
    }
}
