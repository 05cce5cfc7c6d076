package import FetchJobs
package import Postgres

/// The sessions in PostgreSQL.
///
/// Of an ephemeral session there is a row that says which node has it, and nothing else.
package struct PostgresSessionStore: SessionStore {
    let client: Client
    let jobs: PostgresJobStore
    private let node: Node.ID
    private let quota: TenantQuota?

    /// - Parameters:
    ///   - jobs: Cancels the jobs of sessions that are cancelled.
    ///   - quota: How many sessions tenants may have; nil for as many as they like.
    package init(client: Client, jobs: PostgresJobStore, quota: TenantQuota? = nil) {
        self.client = client
        self.jobs = jobs
        self.quota = quota
        node = jobs.node
    }

    package func create(_ session: NewSession) async throws(StoreError) -> SessionCreation {
        guard let quota, let maximum = quota.quota(of: session.tenant) else { return try await store(session) }
        let hasRoom = try await StoreError.wrap { try await quota.take(1, of: session.tenant) > 0 }
        guard hasRoom else {
            return try await replay(session).map { .made(.replayed($0)) } ?? .tooMany(maximum: maximum)
        }
        var isCounted = false
        defer { if !isCounted { quota.giveBack(1, of: session.tenant) } }
        let creation = try await store(session)
        if case .made(.created) = creation { isCounted = true }
        return creation
    }

    package func replay(_ session: NewSession) async throws(StoreError) -> TenantSession? {
        try await StoreError.wrap {
            try await CreationKey(session.idempotency)
                .createdBefore(of: session.tenant, in: Self.table, TenantSession.columns, client: client)
                .map { try TenantSession(row: $0, tenant: session.tenant) }
        }
    }

    private static let table: (name: Query, alias: Query) = ("sessions", "s")

    private func store(_ session: NewSession) async throws(StoreError) -> SessionCreation {
        let isEphemeral = session.spec.kind == .ephemeral
        let spec = isEphemeral ? SessionSpec(kind: .ephemeral) : session.spec
        let key = CreationKey(session.idempotency)
        return try await StoreError.wrap {
            do {
                let creation = try await key.create(
                    session.id, of: session.tenant, in: Self.table, TenantSession.columns,
                    by: """
                        INSERT INTO sessions AS s (tenant_id, id, kind, identifier, spec, endpoint_id, node_id)
                        SELECT \(session.tenant), \(session.id), \(spec.kind), \(spec.identifier),
                            \(RawJSON(JSONWriter.object(spec.write))),
                            coalesce(\(spec.webhook?.endpoint), \(Query.defaultEndpoint(of: "\(session.tenant)"))),
                            \(isEphemeral ? node : nil)
                        """,
                    with: """
                        , stores AS (
                            -- On the snapshot's layers lies one of its own.
                            INSERT INTO session_stores (
                                tenant_id, session_id, layer_ids, cookies_version, cookie_accept_policy
                            )
                            SELECT p.tenant_id, s.id, array_prepend(s.id, p.layer_ids), 1, p.cookie_accept_policy
                            FROM s
                            JOIN session_snapshots p ON p.tenant_id = \(session.tenant) AND p.id = \(spec.snapshot)
                        )
                        """,
                    client: client)
                return .made(try await creation.map { try TenantSession(row: $0, tenant: session.tenant) })
            } catch let error as PostgresError where error.constraint == "sessions_identifier" {
                return .identifierInUse
            }
        }
    }

    package func session(_ id: TenantSession.ID, of tenant: Tenant.ID) async throws(StoreError) -> TenantSession? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
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

    /// By an index, and without reading what the sessions are made of, since any unknown id is looked for.
    package func ephemeralOwner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> Node.ID? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- sessions.ephemeralOwner
                SELECT s.id, s.node_id
                FROM sessions s
                WHERE s.tenant_id = \(tenant) AND s.kind = 'ephemeral'
                    AND substring(uuid_send(s.id) FROM 9 FOR 5) = substring(uuid_send(\(job)) FROM 9 FOR 5)
                """
            )
            for row in rows where TenantSession.isEphemeralOwner(try row.decode(at: 0), of: job) {
                return try row.decode(Node.ID?.self, at: 1)
            }
            return nil
        }
    }
}

extension TenantSession {
    /// Of the table `s`.
    static let columns: Query = """
        s.id, s.spec, s.state, s.created_at, s.invalidated_at, s.ended_at, s.node_id, s.events_finished_at,
        s.events_acknowledged_at
        """

    init(row: Row, tenant: Tenant.ID) throws {
        let spec = try row.decode(RawJSON.self, at: 1)
        self.init(
            id: try row.decode(at: 0),
            tenant: tenant,
            // The same reader checked the spec when it came in.
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
