import FetchEngine
import FetchJobs
import Postgres
import Synchronization

/// Reads and writes the cookies of sessions.
///
/// A write locks the row of the session's stores, so the writes to a session follow one another on all nodes, and their
/// versions tell the order. Concurrent writes of one node share a statement.
struct CookieTable: Sendable {
    struct Write: Sendable {
        let session: SessionAddress
        let change: CookieChange
    }

    /// The cookies of a session, and their version.
    struct Contents: Sendable {
        var version: Int64 = 0
        var acceptPolicy = CookieAcceptPolicy.always
        /// From the layer at the bottom to the one on top.
        var changes: [CookieChange] = []
    }

    let client: Client
    let keys: TenantKeys
    private let writing: Batcher<Write, Void>

    /// - Parameter committed: Gets every write of this node, in the order of their versions.
    init(
        client: Client,
        keys: TenantKeys,
        committed: @escaping @Sendable (SessionAddress, _ version: Int64, [CookieChange]) -> Void
    ) {
        self.client = client
        self.keys = keys
        writing = Batcher(maximumItems: 500) { writes in
            try await Self.write(writes, client: client, keys: keys, committed: committed)
            return writes.map { _ in }
        }
    }

    /// How long a write waits for a database that is away; the transfer goes on meanwhile.
    private static let patience = Duration.seconds(60)

    func write(_ changes: [CookieChange], to session: SessionAddress) async throws {
        guard !changes.isEmpty else { return }
        let writes = changes.map { Write(session: session, change: $0) }
        let deadline = ContinuousClock.now + Self.patience
        var pause = Duration.milliseconds(100)
        while true {
            do {
                _ = try await writing.submit(writes)
                return
            } catch let error as PostgresError where error.isTransient && ContinuousClock.now < deadline {
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
            }
        }
    }

    // MARK: Reading

    func read(_ session: SessionAddress) async throws -> Contents {
        let vault = try await keys.vault(of: session.tenant)
        let rows = try await client.of(session.tenant).query(
            """
            -- cookies.read
            SELECT s.cookies_version, s.cookie_accept_policy, \(CookieRow.columns)
            FROM session_stores s
            LEFT JOIN cookies c ON c.tenant_id = s.tenant_id AND c.layer_id = ANY (s.layer_ids)
            WHERE s.tenant_id = \(session.tenant) AND s.session_id = \(session.session)
            ORDER BY array_position(s.layer_ids, c.layer_id) DESC, c.created_at, c.key
            """
        )
        guard let first = rows.first else { return Contents() }
        return Contents(
            version: try first.decode(at: 0),
            acceptPolicy: try first.decode(at: 1),
            changes: try rows.compactMap { try CookieRow.change($0, from: 2, in: vault) }
        )
    }

    // MARK: Writing

    private static func write(
        _ writes: [Write],
        client: Client,
        keys: TenantKeys,
        committed: (SessionAddress, Int64, [CookieChange]) -> Void
    ) async throws {
        var rows: [(session: SessionAddress, row: CookieRow)] = []
        for write in writes {
            let vault = try await keys.vault(of: write.session.tenant)
            rows.append((write.session, try CookieRow(write.change, in: vault)))
        }
        let versions = try await store(lastOfEach(rows), client: client)
        for (session, writes) in Dictionary(grouping: writes, by: \.session) {
            committed(session, versions[session] ?? 0, writes.map(\.change))
        }
    }

    /// One statement may change a row once; of several writes to one cookie the last counts.
    private static func lastOfEach(
        _ rows: [(session: SessionAddress, row: CookieRow)]
    ) -> [(session: SessionAddress, row: CookieRow)] {
        struct Place: Hashable {
            let session: SessionAddress
            let key: [UInt8]
        }
        var seen: Set<Place> = []
        return rows.reversed().filter { seen.insert(Place(session: $0.session, key: $0.row.key)).inserted }
    }

    /// - Returns: The version that the cookies of each session have with these writes.
    private static func store(
        _ writes: [(session: SessionAddress, row: CookieRow)],
        client: Client
    ) async throws -> [SessionAddress: Int64] {
        let cookies = writes.map(\.row.cookie)
        let rows = try await client.query(
            """
            -- cookies.write
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(writes.map(\.session.tenant)),
                    \(writes.map(\.session.session)),
                    \(writes.map(\.row.key)),
                    \(cookies.map(\.nameBytes)),
                    \(cookies.map(\.domain)),
                    \(cookies.map(\.isHostOnly)),
                    \(cookies.map(\.path)),
                    \(cookies.map(\.partition)),
                    \(writes.map(\.row.sealedValue)),
                    \(cookies.map { $0.expires?.timestamp }),
                    \(cookies.map(\.isSecure)),
                    \(cookies.map(\.isHTTPOnly)),
                    \(cookies.map { $0.sameSite?.rawValue }),
                    \(cookies.map(\.creationTime.timestamp))
                ) AS input (
                    tenant_id, session_id, key, name, domain, is_host_only, path, partition, sealed_value, expires_at,
                    is_secure, is_http_only, same_site, created_at
                )
            ), stores AS (
                INSERT INTO session_stores (tenant_id, session_id, layer_ids, cookies_version)
                SELECT DISTINCT tenant_id, session_id, ARRAY[session_id], 1
                FROM input
                -- In one order, so that two nodes that write to the same sessions cannot wait for each other.
                ORDER BY tenant_id, session_id
                ON CONFLICT (tenant_id, session_id) DO UPDATE
                SET cookies_version = session_stores.cookies_version + 1
                RETURNING tenant_id, session_id, layer_ids[1] AS layer_id, cookies_version
            ), written AS (
                -- What is removed stays as a row without a value: it hides what lies beneath, and a statement that
                -- deletes could not see a row that was written while it waited for its turn.
                INSERT INTO cookies (
                    tenant_id, layer_id, key, name, domain, is_host_only, path, partition, sealed_value, expires_at,
                    is_secure, is_http_only, same_site, created_at
                )
                SELECT i.tenant_id, s.layer_id, i.key, i.name, i.domain, i.is_host_only, i.path, i.partition,
                    i.sealed_value, i.expires_at, i.is_secure, i.is_http_only, i.same_site, i.created_at
                FROM stores s
                JOIN input i ON i.tenant_id = s.tenant_id AND i.session_id = s.session_id
                ON CONFLICT (tenant_id, layer_id, key) DO UPDATE
                SET sealed_value = excluded.sealed_value, expires_at = excluded.expires_at,
                    is_secure = excluded.is_secure, is_http_only = excluded.is_http_only,
                    same_site = excluded.same_site, created_at = excluded.created_at
            ), told AS (
                INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, session_id, event)
                SELECT s.tenant_id, uuidv7(), e.id, s.session_id, \(WebhookEvent.cookiesChanged)
                FROM stores s
                JOIN webhook_endpoints e
                    ON e.tenant_id = s.tenant_id AND \(WebhookEvent.cookiesChanged) = ANY (e.events)
                -- One that is not on its way yet tells of this change too.
                WHERE NOT EXISTS (
                    SELECT FROM webhook_deliveries d
                    WHERE d.tenant_id = s.tenant_id AND d.session_id = s.session_id AND d.endpoint_id = e.id
                        AND d.event = \(WebhookEvent.cookiesChanged) AND d.state = 'pending' AND d.attempts = 0
                )
            )
            SELECT tenant_id, session_id, cookies_version FROM stores
            """
        )
        let versions = try rows.map { row in
            let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
            return (session, try row.decode(Int64.self, at: 2))
        }
        return Dictionary(versions, uniquingKeysWith: max)
    }

    /// Which cookies of answers a session takes, for all who share it.
    ///
    /// - Returns: The version that its cookies have with it.
    func setAcceptPolicy(_ policy: CookieAcceptPolicy, of session: SessionAddress) async throws -> Int64 {
        let rows = try await client.of(session.tenant).query(
            """
            -- cookies.setAcceptPolicy
            INSERT INTO session_stores (tenant_id, session_id, layer_ids, cookies_version, cookie_accept_policy)
            VALUES (
                \(session.tenant), \(session.session), ARRAY[\(session.session)], 1, \(policy)
            )
            ON CONFLICT (tenant_id, session_id) DO UPDATE
            SET cookies_version = session_stores.cookies_version + 1,
                cookie_accept_policy = excluded.cookie_accept_policy
            RETURNING cookies_version
            """
        )
        return try rows.first?.decode(Int64.self, at: 0) ?? 0
    }
}

extension CookieAcceptPolicy: PostgresValue {}
