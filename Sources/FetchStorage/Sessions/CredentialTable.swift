import Crypto
import FetchEngine
import FetchJobs
import Postgres

/// Reads and writes the credentials of sessions.
///
/// Every write raises a version of the tenant's, so that all its sessions on all nodes look again.
struct CredentialTable: Sendable {
    /// A credential and its secret, still sealed.
    struct Entry: Sendable {
        let stored: StoredCredential
        let key: [UInt8]
        let sealedSecret: [UInt8]
    }

    struct Contents: Sendable {
        var version: Int64 = 0
        /// From the layer on top of the session's own to the bottom of those for all.
        var entries: [Entry] = []
    }

    private static let table = "credentials"

    let client: Client
    let keys: TenantKeys

    // MARK: Reading

    func read(_ session: SessionAddress) async throws -> Contents {
        let rows = try await client.of(session.tenant).query(
            """
            -- credentials.read
            WITH chain AS (
                SELECT \(Self.layers(of: session)) || \(Self.layers(of: SessionAddress(tenant: session.tenant))) AS layer_ids
            )
            SELECT coalesce(s.credentials_version, 0), \(Self.columns)
            FROM chain
            LEFT JOIN session_stores s
                ON s.tenant_id = \(session.tenant) AND s.session_id = \(TenantSession.ID.default)
            LEFT JOIN credentials c ON c.tenant_id = \(session.tenant) AND c.layer_id = ANY (chain.layer_ids)
            ORDER BY array_position(chain.layer_ids, c.layer_id), c.created_at, c.id
            """
        )
        guard let first = rows.first else { return Contents() }
        return Contents(
            version: try first.decode(at: 0), entries: try rows.compactMap { try Self.entry($0, from: 1) })
    }

    func find(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws -> Entry? {
        let rows = try await client.of(tenant).query(
            """
            -- credentials.find
            SELECT \(Self.columns)
            FROM credentials c
            WHERE c.tenant_id = \(tenant) AND c.id = \(id)
            """
        )
        return try rows.first.flatMap { try Self.entry($0, from: 0) }
    }

    /// The credential with its secret.
    func open(_ entry: Entry, of tenant: Tenant.ID) async throws -> Credential {
        let secret = try await keys.vault(of: tenant).open(entry.sealedSecret, table: Self.table, row: entry.key)
        return try Credential(secretBytes: secret, user: entry.stored.user, persistence: entry.stored.persistence)
    }

    private static func layers(of session: SessionAddress) -> Query {
        """
        coalesce(
            (
                SELECT layer_ids FROM session_stores
                WHERE tenant_id = \(session.tenant) AND session_id = \(session.session)
            ),
            \([session.session])
        )
        """
    }

    private static let columns: Query = """
        c.id, c.key, c.sealed_secret, c.host, c.port, c.protocol, c.realm, c.authentication_method, c.is_proxy, c.kind,
        c.user_name, c.persistence, c.is_default, c.created_at, c.updated_at, c.last_failure_at
        """

    private static func entry(_ row: Row, from first: Int) throws -> Entry? {
        guard let id = try row.decode(StoredCredential.ID?.self, at: first) else { return nil }
        let space = ProtectionSpace(
            host: try row.decode(at: first + 3),
            port: UInt16(clamping: try row.decode(Int32.self, at: first + 4)),
            scheme: try row.decode(at: first + 5),
            realm: try row.decode(at: first + 6),
            method: try row.decode(at: first + 7),
            isProxy: try row.decode(at: first + 8)
        )
        let stored = StoredCredential(
            id: id,
            space: space,
            kind: try row.decode(at: first + 9),
            user: try row.decode(at: first + 10),
            persistence: try row.decode(at: first + 11),
            isDefault: try row.decode(at: first + 12),
            createdAt: try row.decode(at: first + 13),
            updatedAt: try row.decode(at: first + 14),
            lastFailureAt: try row.decode(at: first + 15)
        )
        return Entry(stored: stored, key: try row.decode(at: first + 1), sealedSecret: try row.decode(at: first + 2))
    }

    // MARK: Writing

    /// Keeps a credential, in place of one of the same user for the same space.
    ///
    /// The first of a space becomes its default.
    ///
    /// - Returns: Its id, and the version of the tenant's credentials with it; nil for a kind that is not kept.
    func put(
        _ credential: Credential,
        for space: ProtectionSpace,
        in session: SessionAddress,
        asDefault isDefault: Bool
    ) async throws -> (id: StoredCredential.ID, version: Int64)? {
        guard let secret = credential.secretBytes, let kind = credential.kind else { return nil }
        let spaceKey = Self.digest(of: space, user: nil)
        let key = Self.digest(of: space, user: credential.user)
        let sealed = try await keys.vault(of: session.tenant).seal(secret, table: Self.table, row: key)
        let details = RawJSON(
            JSONWriter.object { writer in
                writer.member("kind", kind.rawValue)
                writer.member("session", session.session.description)
            })
        let rows = try await client.of(session.tenant).query(
            """
            -- credentials.put
            WITH version AS (
                \(Self.raiseVersion(of: session.tenant))
            ), told AS (
                \(Self.tell(session.tenant))
            ), layer AS (
                SELECT (\(Self.layers(of: session)))[1] AS id
            ), others AS (
                UPDATE credentials c
                SET is_default = false
                FROM layer
                WHERE \(isDefault) AND c.tenant_id = \(session.tenant) AND c.layer_id = layer.id
                    AND c.space = \(spaceKey) AND c.key <> \(key) AND c.is_default
            ), stored AS (
            INSERT INTO credentials AS c (
                tenant_id, id, layer_id, key, space, host, port, protocol, realm, authentication_method, is_proxy,
                user_name, kind, persistence, is_default, sealed_secret
            )
            SELECT \(session.tenant), \(StoredCredential.ID()), layer.id, \(key), \(spaceKey), \(space.host),
                \(Int32(space.port)), \(space.scheme), \(space.realm), \(space.method), \(space.isProxy),
                \(credential.user), \(kind), \(credential.persistence),
                \(isDefault) OR NOT EXISTS (
                    SELECT FROM credentials e
                    WHERE e.tenant_id = \(session.tenant) AND e.layer_id = layer.id AND e.space = \(spaceKey)
                        AND e.is_default
                ),
                \(sealed)
            FROM layer
            ON CONFLICT (tenant_id, layer_id, key) DO UPDATE
            SET kind = excluded.kind, persistence = excluded.persistence, sealed_secret = excluded.sealed_secret,
                is_default = c.is_default OR excluded.is_default, updated_at = now(), last_failure_at = NULL
            RETURNING c.id
            ), \(Query.audited(.setCredential, space.host, of: session.tenant, details: details, when: "stored"))
            SELECT stored.id, version.credentials_version FROM stored, version
            """
        )
        return try rows.first.map { (try $0.decode(at: 0), try $0.decode(at: 1)) }
    }

    /// - Returns: The version of the tenant's credentials without it; nil when there was no such credential.
    func remove(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws -> Int64? {
        let rows = try await client.of(tenant).query(
            """
            -- credentials.remove
            WITH version AS (
                \(Self.raiseVersion(of: tenant))
            ), told AS (
                \(Self.tell(tenant))
            ), removed AS (
                DELETE FROM credentials WHERE tenant_id = \(tenant) AND id = \(id) RETURNING id
            ), \(Query.audited(.removeCredential, id.description, of: tenant, when: "removed"))
            SELECT version.credentials_version FROM removed, version
            """
        )
        return try rows.first?.decode(at: 0)
    }

    /// Removes the credentials stored in the session itself, all or those for one space.
    ///
    /// - Returns: How many there were, and the version of the tenant's credentials without them.
    func removeAll(of session: SessionAddress) async throws -> (count: Int, version: Int64)? {
        let rows = try await client.of(session.tenant).query(
            """
            -- credentials.removeAll
            WITH version AS (
                \(Self.raiseVersion(of: session.tenant))
            ), told AS (
                \(Self.tell(session.tenant))
            ), removed AS (
                DELETE FROM credentials
                WHERE tenant_id = \(session.tenant) AND layer_id = (\(Self.layers(of: session)))[1]
                RETURNING id
            ), \(Query.audited(.removeCredential, session.session.description, of: session.tenant, when: "removed"))
            SELECT version.credentials_version FROM removed, version
            """
        )
        return try rows.first.map { (rows.count, try $0.decode(at: 0)) }
    }

    /// A server has refused it.
    func noteFailure(_ id: StoredCredential.ID, of tenant: Tenant.ID) async throws {
        try await client.of(tenant).query(
            """
            -- credentials.noteFailure
            UPDATE credentials SET last_failure_at = now() WHERE tenant_id = \(tenant) AND id = \(id)
            """
        )
    }

    private static func raiseVersion(of tenant: Tenant.ID) -> Query {
        """
        INSERT INTO session_stores (tenant_id, session_id, layer_ids, credentials_version)
        VALUES (\(tenant), \(TenantSession.ID.default), \([TenantSession.ID.default]), 1)
        ON CONFLICT (tenant_id, session_id) DO UPDATE
        SET credentials_version = session_stores.credentials_version + 1
        RETURNING credentials_version
        """
    }

    /// Tells the tenant's endpoints, unless one that is not on its way yet tells them too.
    private static func tell(_ tenant: Tenant.ID) -> Query {
        """
        INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, session_id, event)
        SELECT e.tenant_id, uuidv7(), e.id, \(TenantSession.ID.default), \(WebhookEvent.credentialsChanged)
        FROM webhook_endpoints e
        WHERE e.tenant_id = \(tenant) AND \(WebhookEvent.credentialsChanged) = ANY (e.events)
            AND NOT EXISTS (
                SELECT FROM webhook_deliveries d
                WHERE d.tenant_id = e.tenant_id AND d.session_id = \(TenantSession.ID.default) AND d.endpoint_id = e.id
                    AND d.event = \(WebhookEvent.credentialsChanged) AND d.state = 'pending' AND d.attempts = 0
            )
        """
    }

    /// The identity of a credential in a layer, in 32 bytes.
    private static func digest(of space: ProtectionSpace, user: String?) -> [UInt8] {
        let parts: [String?] = [
            space.host, String(space.port), space.scheme, space.realm, space.method.rawValue,
            space.isProxy ? "proxy" : "server", user,
        ]
        let text = parts.map { part in part.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined(separator: ",")
        return Array(SHA256.hash(data: Array(text.utf8)))
    }
}

extension ProtectionSpace.Method: PostgresValue {}

extension Credential.Persistence: PostgresValue {}

extension StoredCredential.Kind: PostgresValue {}
