package import FetchJobs
package import Postgres

/// The snapshots of sessions in PostgreSQL.
package struct PostgresSnapshotStore: SnapshotStore {
    private let client: Client

    package init(client: Client) { self.client = client }

    package func take(of session: TenantSession.ID, tenant: Tenant.ID) async throws(StoreError) -> SnapshotCreation {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- snapshots.take
                WITH session AS MATERIALIZED (
                    SELECT tenant_id, id, spec
                    FROM sessions
                    WHERE tenant_id = \(tenant) AND id = \(session) AND kind <> 'ephemeral'
                ), stores AS (
                    INSERT INTO session_stores (tenant_id, session_id, layer_ids)
                    SELECT tenant_id, id, ARRAY[\(TenantSession.ID()), id]
                    FROM session
                    ON CONFLICT (tenant_id, session_id) DO UPDATE
                    SET layer_ids = array_prepend(excluded.layer_ids[1], session_stores.layer_ids)
                    WHERE cardinality(session_stores.layer_ids) < 16
                    RETURNING layer_ids, cookie_accept_policy
                ), snapshot AS (
                    INSERT INTO session_snapshots (tenant_id, id, session_id, spec, layer_ids, cookie_accept_policy)
                    SELECT s.tenant_id, \(SessionSnapshot.ID()), s.id, s.spec, l.layer_ids[2:], l.cookie_accept_policy
                    FROM session s, stores l
                    RETURNING id, session_id, spec, created_at
                )
                SELECT p.id, s.id, s.spec, p.created_at
                FROM session s
                LEFT JOIN snapshot p ON true
                """
            )
            guard let row = rows.first else { return .unknown }
            guard try row.decode(SessionSnapshot.ID?.self, at: 0) != nil else { return .tooManyLayers }
            return .created(try SessionSnapshot(row: row))
        }
    }

    package func snapshot(
        _ id: SessionSnapshot.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> SessionSnapshot? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- snapshots.find
                SELECT id, session_id, spec, created_at
                FROM session_snapshots
                WHERE tenant_id = \(tenant) AND id = \(id)
                """
            )
            return try rows.first.map { try SessionSnapshot(row: $0) }
        }
    }

    package func remove(snapshot id: SessionSnapshot.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- snapshots.remove
                WITH removed AS (
                    DELETE FROM session_snapshots WHERE tenant_id = \(tenant) AND id = \(id) RETURNING id
                ), \(Query.audited(.removeSnapshot, id.description, of: tenant, when: "removed"))
                SELECT id FROM removed
                """
            )
            return !rows.isEmpty
        }
    }
}

extension SessionSnapshot {
    fileprivate init(row: Row) throws {
        let spec = try row.decode(RawJSON.self, at: 2)
        self.init(
            id: try row.decode(at: 0),
            session: try row.decode(at: 1),
            configuration: try SessionSpec(json: try JSONParser.parse(spec.bytes)).configuration,
            createdAt: try row.decode(at: 3)
        )
    }
}
