import Crypto
package import FetchJobs
package import Postgres

/// The sign-ins to the dashboard in PostgreSQL: of a link's secret only a keyed hash is stored.
package struct PostgresSignInStore: SignInStore {
    private let client: Client
    private let keys: ServiceKeys
    /// All cookies that came in by then are looked for in one statement.
    private let lookUps: Batcher<SignIn.ID, SignIn?>
    /// Links are tried one after the other, so that wrong ones cost the database no more than one connection.
    private let redemptions: Batcher<Redemption, SignIn?>

    private struct Redemption: Sendable {
        let id: SignIn.ID
        let link: SignInLink
        let lifetime: Duration
        /// A batch runs in the task of another caller.
        let actor: AuditActor
    }

    package init(client: Client, ring: KeyRing) {
        let keys = ServiceKeys(client: client, ring: ring)
        self.client = client
        self.keys = keys
        lookUps = Batcher(maximumItems: 1000) { ids in try await Self.look(for: ids, client) }
        redemptions = Batcher(maximumItems: 1) { redemptions in
            var signIns: [SignIn?] = []
            for redemption in redemptions { signIns.append(try await Self.redeem(redemption, client, keys)) }
            return signIns
        }
    }

    package func secret() async throws(StoreError) -> SessionSecret {
        try await StoreError.wrap {
            SessionSecret(bytes: try await keys.key(for: "dashboard sessions").withUnsafeBytes { Array($0) })
        }
    }

    // MARK: Beginning

    package func begin(
        _ id: SignIn.ID, with key: APIKey, as role: Role, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        try await StoreError.wrap {
            let rows = try await client.of(key.tenant).query(
                """
                -- signIns.begin
                WITH s AS (
                    INSERT INTO dashboard_sign_ins (tenant_id, id, key_id, role, expires_at)
                    SELECT k.tenant_id, \(id), k.id, \(role), now() + \(lifetime)
                    FROM api_keys k
                    WHERE k.id = \(key.id) AND k.tenant_id = \(key.tenant) AND \(PostgresKeyStore.isValid)
                    RETURNING *
                ), \(Query.audited(.signIn, details: .details(of: role), ofTenantIn: "s"))
                SELECT \(Self.columns)
                FROM s
                """
            )
            return try rows.first.map { try SignIn(row: $0) }
        }
    }

    package func begin(
        _ id: SignIn.ID, with link: SignInLink, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        try await StoreError.wrap {
            let redemption = Redemption(id: id, link: link, lifetime: lifetime, actor: .current)
            return try await redemptions.submit([redemption]).first ?? nil
        }
    }

    package func begin(
        _ id: SignIn.ID, of subject: TokenSubject, as role: Role, forTenant tenant: String, for lifetime: Duration
    ) async throws(StoreError) -> SignIn? {
        try await StoreError.wrap {
            let name = subject.description
            let rows = try await client.query(
                """
                -- signIns.beginElsewhere
                WITH s AS (
                    INSERT INTO dashboard_sign_ins (tenant_id, id, subject, role, expires_at)
                    SELECT t.id, \(id), \(name), \(role), now() + \(lifetime)
                    FROM tenants t
                    WHERE t.name = \(tenant)
                    RETURNING *
                ), \(Query.audited(.signIn, name, details: .details(of: role), ofTenantIn: "s"))
                SELECT \(Self.columns)
                FROM s
                """
            )
            return try rows.first.map { try SignIn(row: $0) }
        }
    }

    private static func redeem(
        _ redemption: Redemption, _ client: Client, _ keys: ServiceKeys
    ) async throws -> SignIn? {
        let code = try await code(of: redemption.link, keys)
        return try await AuditActor.$current.withValue(redemption.actor) {
            // Of two nodes that are given the link at once, one deletes the row.
            let rows = try await client.query(
                """
                -- signIns.redeem
                WITH link AS (
                    DELETE FROM dashboard_links
                    WHERE id = \(redemption.link.id) AND secret_mac = \(code) AND expires_at > now()
                    RETURNING tenant_id, role
                ), s AS (
                    INSERT INTO dashboard_sign_ins (tenant_id, id, role, expires_at)
                    SELECT tenant_id, \(redemption.id), role, now() + \(redemption.lifetime)
                    FROM link
                    RETURNING *
                ), \(Query.audited(.signIn, redemption.link.id.description, ofTenantIn: "s"))
                SELECT \(columns)
                FROM s
                """
            )
            return try rows.first.map { try SignIn(row: $0) }
        }
    }

    // MARK: Looking and ending

    package func signIn(_ id: SignIn.ID) async throws(StoreError) -> SignIn? {
        try await StoreError.wrap { try await lookUps.submit([id]).first ?? nil }
    }

    private static func look(for ids: [SignIn.ID], _ client: Client) async throws -> [SignIn?] {
        let rows = try await client.query(
            """
            -- signIns.find
            SELECT \(columns)
            FROM dashboard_sign_ins s
            WHERE s.id = ANY (\(ids)) AND \(isLive)
            """
        )
        var signIns: [SignIn.ID: SignIn] = [:]
        for row in rows {
            let signIn = try SignIn(row: row)
            signIns[signIn.id] = signIn
        }
        return ids.map { signIns[$0] }
    }

    /// The sign-ins that are not over, with the names of their tenants, the oldest first.
    package func all() async throws(StoreError) -> [(signIn: SignIn, tenant: String)] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- signIns.list
                SELECT \(Self.columns), t.name
                FROM dashboard_sign_ins s
                JOIN tenants t ON t.id = s.tenant_id
                WHERE \(Self.isLive)
                ORDER BY s.id
                """
            ).map { (try SignIn(row: $0), try $0.decode(at: 6)) }
        }
    }

    package func end(_ id: SignIn.ID) async throws(StoreError) {
        // Whoever ends his own is named by it as the actor.
        let object = AuditActor.current.signIn == nil ? id.description : nil
        try await StoreError.wrap {
            try await client.query(
                """
                -- signIns.end
                WITH ended AS (
                    DELETE FROM dashboard_sign_ins WHERE id = \(id) RETURNING tenant_id
                ), \(Query.audited(.signOut, object, ofTenantIn: "ended"))
                SELECT 1 FROM ended
                """
            )
        }
    }

    // MARK: Links

    package func makeLink(
        as role: Role, forTenant tenant: String, lifetime: Duration
    ) async throws(StoreError) -> SignInLink {
        let link = SignInLink()
        return try await StoreError.wrap {
            let code = try await Self.code(of: link, keys)
            let count = try await client.query(
                """
                -- signIns.makeLink
                WITH new_tenant AS (
                    INSERT INTO tenants (name) VALUES (\(tenant))
                    ON CONFLICT (name) DO NOTHING
                    RETURNING id
                ), owner AS (
                    SELECT id FROM new_tenant
                    UNION ALL
                    SELECT id FROM tenants WHERE name = \(tenant)
                ), made AS (
                    INSERT INTO dashboard_links (tenant_id, id, secret_mac, role, expires_at)
                    SELECT id, \(link.id), \(code), \(role), now() + \(lifetime)
                    FROM owner
                    RETURNING tenant_id
                ), \(Query.audited(.makeLink, link.id.description, details: .details(of: role), ofTenantIn: "made"))
                SELECT 1 FROM made
                """
            ).count
            guard count == 1 else { throw StoreError(.failed, "The link was not stored.") }
            return link
        }
    }

    private static func code(of link: SignInLink, _ keys: ServiceKeys) async throws -> [UInt8] {
        let hashing = try await keys.key(for: "dashboard links")
        return Array(HMAC<SHA256>.authenticationCode(for: link.secret, using: hashing))
    }

    // MARK: Rows

    /// Of a row `s`.
    private static let isLive: Query = """
        (
            s.expires_at > now()
            AND (
                s.key_id IS NULL
                OR EXISTS (SELECT FROM api_keys k WHERE k.id = s.key_id AND \(PostgresKeyStore.isValid))
            )
        )
        """

    /// Of a row `s`.
    private static let columns: Query = "s.id, s.tenant_id, s.role, s.key_id, s.subject, s.expires_at"
}

extension Role: PostgresValue {}

extension SignIn {
    fileprivate init(row: Row) throws {
        self.init(
            id: try row.decode(at: 0), tenant: try row.decode(at: 1), role: try row.decode(at: 2),
            key: try row.decode(at: 3), subject: try row.decode(at: 4), expiresAt: try row.decode(at: 5))
    }
}

extension RawJSON {
    fileprivate static func details(of role: Role) -> RawJSON {
        RawJSON(JSONWriter.object { $0.member("role", role.rawValue) })
    }
}
