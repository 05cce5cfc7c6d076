import Crypto
import FetchEngine
package import FetchJobs
package import Postgres

/// API keys in PostgreSQL: of a key's secret only a keyed hash is stored (SEC-40).
package struct PostgresKeyStore: KeyStore {
    private let client: Client
    private let keys: ServiceKeys
    /// Clients with wrong keys cause look-ups, however many there are: one statement at a time looks up all keys that
    /// were sent by then, so that a right one among them waits for two statements at most.
    private let lookUps: Batcher<APIKeyToken, APIKey?>

    package init(client: Client, ring: KeyRing) {
        let keys = ServiceKeys(client: client, ring: ring)
        self.client = client
        self.keys = keys
        lookUps = Batcher(maximumItems: 10_000) { tokens in try await Self.look(for: tokens, client, keys) }
    }

    package func authenticate(_ token: APIKeyToken) async throws(StoreError) -> APIKey? {
        try await StoreError.wrap { try await lookUps.submit([token]).first ?? nil }
    }

    /// How many look-ups wait for the next statement.
    package var waitingLookUps: Int { lookUps.waitingCount }

    private static func look(for tokens: [APIKeyToken], _ client: Client, _ keys: ServiceKeys) async throws -> [APIKey?]
    {
        let rows = try await client.query(
            """
            -- keys.authenticate
            SELECT k.secret_mac, \(columns)
            FROM api_keys k
            WHERE k.id = ANY (\(tokens.map(\.id))) AND \(isValid)
            """
        )
        guard !rows.isEmpty else { return tokens.map { _ in nil } }
        let hashing = try await keys.key(for: "api keys")
        var keys: [APIKey.ID: (key: APIKey, code: [UInt8])] = [:]
        for row in rows {
            let key = try APIKey(row: row, from: 1)
            keys[key.id] = (key, try row.decode(at: 0))
        }
        return tokens.map { token in
            guard let (key, code) = keys[token.id],
                HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: token.secret, using: hashing)
            else { return nil }
            return key
        }
    }

    package func create(_ spec: APIKeySpec, for owner: KeyOwner) async throws(StoreError) -> (APIKey, APIKeyToken) {
        let token = APIKeyToken(id: APIKey.ID())
        guard let key = try await keep(token, spec, for: owner) else {
            throw StoreError(.failed, "The key was not stored.")
        }
        return (key, token)
    }

    /// Stores the key that a token is for; nil when there is one of its id, valid or not.
    package func keep(_ token: APIKeyToken, _ spec: APIKeySpec, for owner: KeyOwner) async throws(StoreError) -> APIKey?
    {
        let (name, maker): (String?, APIKey.ID?)
        var counter = token.id
        switch owner {
        case .tenant(let named, let by): (name, maker) = (named, by)
        case .tenantOf(let key):
            (name, maker) = (nil, key.id)
            if key.spec.maximumJobs != nil { counter = key.countedBy }
        }
        return try await StoreError.wrap {
            let code = try await code(of: token)
            let details = RawJSON(
                JSONWriter.object { writer in
                    writer.member("name", spec.name)
                    writer.member(
                        "scopes", array: { writer in for scope in spec.scopes.sorted { writer.value(scope.rawValue) } })
                })
            let rows = try await client.query(
                """
                -- keys.create
                WITH new_tenant AS (
                    INSERT INTO tenants (name)
                    SELECT \(name) WHERE \(name)::text IS NOT NULL
                    ON CONFLICT (name) DO NOTHING
                    RETURNING id
                ), owner AS (
                    SELECT id FROM new_tenant
                    UNION ALL
                    SELECT id FROM tenants WHERE name = \(name)
                    UNION ALL
                    SELECT tenant_id FROM api_keys WHERE \(name)::text IS NULL AND id = \(maker)
                ), k AS (
                    INSERT INTO api_keys (
                        tenant_id, id, name, secret_mac, scopes, session_id, hosts, maximum_jobs, counted_by,
                        created_by, expires_at
                    )
                    SELECT id, \(token.id), \(spec.name), \(code), \(spec.scopes.sorted), \(spec.session),
                        \(spec.hosts?.map(\.description)), \(spec.maximumJobs), \(counter), \(maker),
                        \(spec.expiresAt)
                    FROM owner
                    ON CONFLICT DO NOTHING
                    RETURNING *
                ), \(Query.audited(.makeKey, token.id.description, details: details, ofTenantIn: "k"))
                SELECT \(Self.columns)
                FROM k
                """
            )
            return try rows.first.map { try APIKey(row: $0) }
        }
    }

    package func keys(
        of tenant: Tenant.ID?, after key: APIKey.ID?, limit: Int
    ) async throws(StoreError) -> [(key: APIKey, tenant: Tenant)] {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- keys.list
                SELECT t.name, \(Self.columns)
                FROM api_keys k
                JOIN tenants t ON t.id = k.tenant_id
                WHERE (\(tenant) IS NULL OR k.tenant_id = \(tenant)) AND (\(key) IS NULL OR k.id > \(key))
                ORDER BY k.id
                LIMIT \(limit)
                """
            ).map { try Self.owned($0) }
        }
    }

    package func key(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> (key: APIKey, tenant: Tenant)?
    {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- keys.find
                SELECT t.name, \(Self.columns)
                FROM api_keys k
                JOIN tenants t ON t.id = k.tenant_id
                WHERE k.id = \(id) AND (\(tenant) IS NULL OR k.tenant_id = \(tenant))
                """
            ).first.map { try Self.owned($0) }
        }
    }

    package func revoke(_ id: APIKey.ID, of tenant: Tenant.ID?) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- keys.revoke
                WITH revoked AS (
                    UPDATE api_keys k
                    SET revoked_at = now()
                    WHERE id = \(id) AND (\(tenant) IS NULL OR tenant_id = \(tenant)) AND \(Self.isValid)
                    RETURNING tenant_id
                ), \(Query.audited(.revokeKey, id.description, ofTenantIn: "revoked"))
                SELECT 1 FROM revoked
                """
            ).affected > 0
        }
    }

    package func rotate(
        _ id: APIKey.ID, of tenant: Tenant.ID?, overlap: Duration, by maker: APIKey.ID?
    ) async throws(StoreError) -> (APIKey, APIKeyToken)? {
        let token = APIKeyToken(id: APIKey.ID())
        return try await StoreError.wrap {
            let code = try await code(of: token)
            // A row that another rotation has changed meanwhile has its replaced_by then, and is left alone.
            let rows = try await client.of(tenant).query(
                """
                -- keys.rotate
                WITH old AS (
                    SELECT id, expires_at
                    FROM api_keys k
                    WHERE id = \(id) AND (\(tenant) IS NULL OR tenant_id = \(tenant)) AND \(Self.isValid)
                        AND replaced_by IS NULL
                        AND NOT EXISTS (
                            SELECT FROM api_keys k
                            WHERE k.replaced_by = \(id) AND \(Self.isValid)
                        )
                    FOR UPDATE
                ), ended AS (
                    UPDATE api_keys k
                    SET replaced_by = \(token.id),
                        expires_at = least(old.expires_at, now() + \(overlap))
                    FROM old
                    WHERE k.id = old.id AND k.replaced_by IS NULL
                    RETURNING k.*, old.expires_at AS own_expires_at
                ), k AS (
                    INSERT INTO api_keys (
                        tenant_id, id, name, secret_mac, scopes, session_id, hosts, maximum_jobs, counted_by,
                        created_by, expires_at
                    )
                    SELECT tenant_id, \(token.id), name, \(code), scopes, session_id, hosts, maximum_jobs, counted_by,
                        \(maker), own_expires_at
                    FROM ended
                    RETURNING *
                ), \(Query.audited(.rotateKey, id.description, ofTenantIn: "ended"))
                SELECT \(Self.columns)
                FROM k
                """
            )
            return try rows.first.map { (try APIKey(row: $0), token) }
        }
    }

    package func count(_ jobs: Int, submittedBy key: APIKey) async throws(StoreError) -> Int {
        guard let maximum = key.spec.maximumJobs, jobs != 0 else { return jobs }
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- keys.count
                WITH room AS (
                    SELECT id, least(\(Int64(jobs)), greatest(\(maximum) - submitted_jobs, 0)) AS jobs
                    FROM api_keys
                    WHERE id = \(key.countedBy)
                    FOR UPDATE
                )
                UPDATE api_keys k
                SET submitted_jobs = greatest(submitted_jobs + room.jobs, 0)
                FROM room
                WHERE k.id = room.id
                RETURNING room.jobs
                """
            )
            return Int(try rows.first?.decode(Int64.self, at: 0) ?? 0)
        }
    }

    package func noteUses(_ uses: [APIKey.ID: Timestamp]) async throws(StoreError) {
        guard !uses.isEmpty else { return }
        // In one order everywhere, so that nodes do not wait for each other in a circle.
        let uses = uses.sorted { $0.key < $1.key }
        try await StoreError.wrap {
            try await client.query(
                """
                -- keys.noteUses
                UPDATE api_keys k
                SET last_used_at = input.used_at
                FROM unnest(\(uses.map(\.key)), \(uses.map(\.value))) AS input (id, used_at)
                WHERE k.id = input.id AND (k.last_used_at IS NULL OR k.last_used_at < input.used_at)
                """
            )
        }
    }

    package func hasKeys() async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- keys.any
                SELECT EXISTS (SELECT FROM api_keys k WHERE \(Self.isValid))
                """
            )
            return try rows.first?.decode(Bool.self, at: 0) ?? false
        }
    }

    private func code(of token: APIKeyToken) async throws -> [UInt8] {
        let hashing = try await keys.key(for: "api keys")
        return Array(HMAC<SHA256>.authenticationCode(for: token.secret, using: hashing))
    }

    // MARK: Rows

    /// Of a row `k`.
    static let isValid: Query = "(k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))"

    /// Of a row `k`.
    private static let columns: Query = """
        k.id, k.tenant_id, k.name, k.scopes, k.session_id, k.hosts, k.maximum_jobs, k.expires_at,
        coalesce((SELECT c.submitted_jobs FROM api_keys c WHERE c.id = k.counted_by), 0), k.counted_by, k.created_at,
        k.created_by, k.last_used_at, k.replaced_by, k.revoked_at
        """

    private static func owned(_ row: Row) throws -> (key: APIKey, tenant: Tenant) {
        let key = try APIKey(row: row, from: 1)
        return (key, Tenant(id: key.tenant, name: try row.decode(at: 0)))
    }
}

extension Scope: PostgresValue, PostgresArrayElement {}

extension APIKey {
    fileprivate init(row: Row, from start: Int = 0) throws {
        let hosts = try row.decode([String]?.self, at: start + 5)
        let spec = APIKeySpec(
            name: try row.decode(at: start + 2), scopes: Set(try row.decode([Scope].self, at: start + 3)),
            session: try row.decode(at: start + 4),
            // A pattern that cannot be read any more matches nothing.
            hosts: hosts.map { $0.compactMap { HostPattern($0) } },
            maximumJobs: try row.decode(at: start + 6), expiresAt: try row.decode(at: start + 7))
        self.init(
            id: try row.decode(at: start), tenant: try row.decode(at: start + 1), spec: spec,
            submittedJobs: try row.decode(at: start + 8), countedBy: try row.decode(at: start + 9),
            createdAt: try row.decode(at: start + 10), createdBy: try row.decode(at: start + 11),
            lastUsedAt: try row.decode(at: start + 12), replacedBy: try row.decode(at: start + 13),
            revokedAt: try row.decode(at: start + 14))
    }
}
