package import FetchJobs
package import Postgres

/// What jobs have moved, in PostgreSQL: each node has a row for each tenant and day of UTC.
package struct PostgresTrafficStore: TrafficStore {
    private let client: Client
    private let node: Node.ID

    package init(client: Client, node: Node.ID) {
        self.client = client
        self.node = node
    }

    package func add(
        _ traffic: [Tenant.ID: Traffic], reading asked: Set<Tenant.ID>
    ) async throws(StoreError) -> TrafficOfDay {
        let new = traffic.sorted { $0.key.rawValue < $1.key.rawValue }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- traffic.add
                WITH input AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(new.map(\.key)), \(new.map(\.value.sentBytes)), \(new.map(\.value.receivedBytes))
                    ) AS input (tenant_id, sent_bytes, received_bytes)
                ), added AS (
                    INSERT INTO traffic (tenant_id, day, node_id, sent_bytes, received_bytes)
                    SELECT tenant_id, \(Query.dayOfUTC), \(node), sent_bytes, received_bytes
                    FROM input
                    ON CONFLICT (tenant_id, day, node_id) DO UPDATE
                    SET sent_bytes = traffic.sent_bytes + excluded.sent_bytes,
                        received_bytes = traffic.received_bytes + excluded.received_bytes
                )
                SELECT (\(Query.dayOfUTC) + 1)::timestamp AT TIME ZONE 'UTC', asked.tenant_id,
                    coalesce(t.sent_bytes, 0) + coalesce(i.sent_bytes, 0),
                    coalesce(t.received_bytes, 0) + coalesce(i.received_bytes, 0)
                FROM (SELECT) AS one
                LEFT JOIN unnest(\(Array(asked))) AS asked (tenant_id) ON true
                -- What is added now is not seen there.
                LEFT JOIN LATERAL (\(Query.trafficOfDay(of: "asked.tenant_id"))) AS t ON true
                LEFT JOIN input i ON i.tenant_id = asked.tenant_id
                """
            )
            guard let first = rows.first else { throw StoreError(.failed, "The traffic has no answer.") }
            var traffic: [Tenant.ID: Traffic] = [:]
            for row in rows {
                guard let tenant = try row.decode(Tenant.ID?.self, at: 1) else { continue }
                traffic[tenant] = Traffic(sentBytes: try row.decode(at: 2), receivedBytes: try row.decode(at: 3))
            }
            return TrafficOfDay(end: try first.decode(at: 0), ofTenants: traffic)
        }
    }
}

extension Query {
    /// The present day of UTC, by the clock of the database.
    static let dayOfUTC: Query = "(now() AT TIME ZONE 'UTC')::date"

    /// The sums `sent_bytes` and `received_bytes` of a tenant's present day, in one row.
    static func trafficOfDay(of tenant: Query) -> Query {
        """
        SELECT sum(sent_bytes)::bigint AS sent_bytes, sum(received_bytes)::bigint AS received_bytes
        FROM traffic
        WHERE tenant_id = \(tenant) AND day = \(Query.dayOfUTC)
        """
    }
}
