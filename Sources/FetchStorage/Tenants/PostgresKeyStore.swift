import Crypto
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
            SELECT id, tenant_id, name, created_at, secret_mac, is_admin
            FROM api_keys
            WHERE id = ANY (\(tokens.map(\.id))) AND revoked_at IS NULL
            """
        )
        guard !rows.isEmpty else { return tokens.map { _ in nil } }
        let hashing = try await keys.key(for: "api keys")
        var keys: [APIKey.ID: (key: APIKey, code: [UInt8])] = [:]
        for row in rows {
            let key = APIKey(
                id: try row.decode(at: 0), tenant: try row.decode(at: 1), name: try row.decode(at: 2),
                isAdmin: try row.decode(at: 5), createdAt: try row.decode(at: 3))
            keys[key.id] = (key, try row.decode(at: 4))
        }
        return tokens.map { token in
            guard let (key, code) = keys[token.id],
                HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: token.secret, using: hashing)
            else { return nil }
            return key
        }
    }

    package func create(name: String, tenant: String, isAdmin: Bool) async throws(StoreError) -> (APIKey, APIKeyToken) {
        let token = APIKeyToken(id: APIKey.ID())
        guard let key = try await keep(token, name: name, tenant: tenant, isAdmin: isAdmin) else {
            throw StoreError(.failed, "The key was not stored.")
        }
        return (key, token)
    }

    /// Stores the key that a token is for; nil when there is one of its id, valid or not.
    package func keep(
        _ token: APIKeyToken, name: String, tenant: String, isAdmin: Bool = false
    ) async throws(StoreError) -> APIKey? {
        try await StoreError.wrap {
            let code = Array(HMAC<SHA256>.authenticationCode(for: token.secret, using: try await hashingKey()))
            let details = RawJSON(
                JSONWriter.object { writer in
                    writer.member("name", name)
                    writer.member("isAdmin", isAdmin)
                })
            let rows = try await client.query(
                """
                -- keys.create
                WITH new_tenant AS (
                    INSERT INTO tenants (name) VALUES (\(tenant)) ON CONFLICT (name) DO NOTHING RETURNING id
                ), owner AS (
                    SELECT id FROM new_tenant UNION ALL SELECT id FROM tenants WHERE name = \(tenant)
                ), made AS (
                    INSERT INTO api_keys (tenant_id, id, name, secret_mac, is_admin)
                    SELECT id, \(token.id), \(name), \(code), \(isAdmin)
                    FROM owner
                    ON CONFLICT DO NOTHING
                    RETURNING tenant_id, created_at
                ), \(Query.audited(.makeKey, token.id.description, details: details, ofTenantIn: "made"))
                SELECT tenant_id, created_at FROM made
                """
            )
            return try rows.first.map { row in
                APIKey(
                    id: token.id, tenant: try row.decode(at: 0), name: name, isAdmin: isAdmin,
                    createdAt: try row.decode(at: 1))
            }
        }
    }

    package func keys() async throws(StoreError) -> [(key: APIKey, tenant: Tenant)] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- keys.list
                SELECT k.id, k.name, k.created_at, k.revoked_at, t.id, t.name, k.is_admin
                FROM api_keys k
                JOIN tenants t ON t.id = k.tenant_id
                ORDER BY t.id, k.id
                """
            )
            return try rows.map { row in
                let tenant = Tenant(id: try row.decode(at: 4), name: try row.decode(at: 5))
                let key = APIKey(
                    id: try row.decode(at: 0),
                    tenant: tenant.id,
                    name: try row.decode(at: 1),
                    isAdmin: try row.decode(at: 6),
                    createdAt: try row.decode(at: 2),
                    revokedAt: try row.decode(at: 3)
                )
                return (key, tenant)
            }
        }
    }

    package func revoke(_ id: APIKey.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- keys.revoke
                WITH revoked AS (
                    UPDATE api_keys SET revoked_at = now() WHERE id = \(id) AND revoked_at IS NULL RETURNING tenant_id
                ), \(Query.audited(.revokeKey, id.description, ofTenantIn: "revoked"))
                SELECT 1 FROM revoked
                """
            ).affected > 0
        }
    }

    package func hasKeys() async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- keys.any
                SELECT EXISTS (SELECT FROM api_keys WHERE revoked_at IS NULL)
                """
            )
            return try rows.first?.decode(Bool.self, at: 0) ?? false
        }
    }

    private func hashingKey() async throws -> SymmetricKey { try await keys.key(for: "api keys") }
}
