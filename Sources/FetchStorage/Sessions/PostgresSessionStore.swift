package import FetchJobs
package import Postgres

/// The sessions in PostgreSQL.
///
/// Of an ephemeral session there is a row that says which node has it, and nothing else.
package struct PostgresSessionStore: SessionStore {
    let client: Client
    let jobs: PostgresJobStore
    private let node: Node.ID

    /// - Parameter jobs: Cancels the jobs of sessions that are cancelled.
    package init(client: Client, jobs: PostgresJobStore) {
        self.client = client
        self.jobs = jobs
        node = jobs.node
    }

    package func create(_ session: NewSession) async throws(StoreError) -> SessionCreation {
        let isEphemeral = session.spec.kind == .ephemeral
        let spec = isEphemeral ? SessionSpec(kind: .ephemeral) : session.spec
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- sessions.create
                WITH s AS (
                    INSERT INTO sessions (
                        tenant_id, id, kind, identifier, spec, endpoint_id, node_id, idempotency_key, fingerprint
                    )
                    VALUES (
                        \(session.tenant), \(session.id), \(spec.kind), \(spec.identifier),
                        \(RawJSON(JSONWriter.object(spec.write))), \(spec.webhook?.endpoint),
                        \(isEphemeral ? node : nil), \(session.idempotency?.key),
                        \(session.idempotency?.fingerprint.bytes)
                    )
                    ON CONFLICT DO NOTHING
                    RETURNING tenant_id, id, spec, state, created_at, invalidated_at, ended_at, node_id,
                        events_finished_at, events_acknowledged_at
                ), stores AS (
                    -- On the snapshot's layers lies one of its own.
                    INSERT INTO session_stores (tenant_id, session_id, layer_ids, cookies_version, cookie_accept_policy)
                    SELECT s.tenant_id, s.id, array_prepend(s.id, p.layer_ids), 1, p.cookie_accept_policy
                    FROM s
                    JOIN session_snapshots p ON p.tenant_id = s.tenant_id AND p.id = \(spec.snapshot)
                )
                SELECT \(TenantSession.columns)
                FROM s
                """
            )
            if let row = rows.first { return .created(try TenantSession(row: row, tenant: session.tenant)) }
            return try await earlier(session)
        }
    }

    /// Why there is no such session: the key was used before, or the identifier is.
    private func earlier(_ session: NewSession) async throws -> SessionCreation {
        guard let idempotency = session.idempotency else { return .identifierInUse }
        let rows = try await client.query(
            """
            -- sessions.createdBefore
            SELECT \(TenantSession.columns), s.fingerprint = \(idempotency.fingerprint.bytes)
            FROM sessions s
            WHERE s.tenant_id = \(session.tenant) AND s.idempotency_key = \(idempotency.key)
            """
        )
        guard let row = rows.first else { return .identifierInUse }
        guard try row.decode(Bool.self, at: TenantSession.columnCount) else { return .conflict }
        return .replayed(try TenantSession(row: row, tenant: session.tenant))
    }

    package func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- sessions.find
                SELECT \(TenantSession.columns)
                FROM sessions s
                WHERE s.tenant_id = \(tenant) AND s.id = \(id)
                """
            )
            return try rows.first.map { try TenantSession(row: $0, tenant: tenant) }
        }
    }
}

extension TenantSession {
    /// Of the table `s`.
    static let columns: Query = """
        s.id, s.spec, s.state, s.created_at, s.invalidated_at, s.ended_at, s.node_id, s.events_finished_at,
        s.events_acknowledged_at
        """
    fileprivate static let columnCount = 9

    init(row: Row, tenant: Tenant.ID) throws {
        let spec = try row.decode(RawJSON.self, at: 1)
        self.init(
            id: try row.decode(at: 0),
            tenant: tenant,
            // What is stored was checked by the same reader when it came in.
            spec: try SessionSpec(json: try JSONParser.parse(spec.bytes)),
            state: try row.decode(at: 2),
            createdAt: try row.decode(at: 3),
            node: try row.decode(at: 6)
        )
        invalidatedAt = try row.decode(at: 4)
        endedAt = try row.decode(at: 5)
        eventsFinishedAt = try row.decode(at: 7)
        eventsAcknowledgedAt = try row.decode(at: 8)
    }
}

extension SessionSpec.Kind: PostgresValue, PostgresArrayElement {}

extension SessionState: PostgresValue, PostgresArrayElement {}
