import Crypto
import FetchEngine
import FetchJobs
import HTTPTypes
import Postgres

/// Reads and writes the cached answers of sessions; loads that meet share a statement.
struct CacheTable: Sendable {
    /// Where the body of an entry lies.
    enum Body: Sendable {
        case bytes([UInt8])
        case blob(Blob.ID)
    }

    /// An entry as it was read.
    struct StoredEntry: Sendable {
        let entry: CacheEntry
        let body: Body
    }

    /// The place of the entries of a session for a key, with a digest of the key.
    struct Place: Sendable, Hashable {
        let session: SessionAddress
        let key: [UInt8]

        init(_ key: CacheKey, of session: SessionAddress) {
            self.session = session
            self.key = Array(SHA256.hash(data: Array("\(key.method) \(key.url)".utf8)))
        }

        init(session: SessionAddress, key: [UInt8]) {
            self.session = session
            self.key = key
        }
    }

    let client: Client
    private let looking: Batcher<Place, [StoredEntry]>
    let storing: Batcher<Storing, Change>
    let refreshing: Batcher<Refreshing, Change>
    let removing: Batcher<Place, Change>

    init(client: Client) {
        self.client = client
        looking = Batcher(maximumItems: 500) { try await Self.look($0, client: client) }
        storing = Batcher(maximumItems: 200) { try await Self.store($0, client: client) }
        refreshing = Batcher(maximumItems: 200) { try await Self.refresh($0, client: client) }
        removing = Batcher(maximumItems: 500) { try await Self.remove($0, client: client) }
    }

    func entries(for key: CacheKey, of session: SessionAddress) async throws -> [StoredEntry] {
        try await looking.submit([Place(key, of: session)]).first ?? []
    }

    /// The entries for a key, by the columns of another table that are called as its own.
    ///
    /// They are read in the order of the primary key, which no other index has: one that knows but the tenant looks as cheap
    /// while there are few entries, and a plan made then is kept.
    static func entries(of key: Query) -> Query {
        """
        LATERAL (
            SELECT e.ctid, e.*
            FROM cache_entries e
            WHERE e.tenant_id = \(key).tenant_id AND e.session_id = \(key).session_id AND e.key = \(key).key
            ORDER BY e.selection
        )
        """
    }

    private static func look(_ places: [Place], client: Client) async throws -> [[StoredEntry]] {
        let rows = try await client.query(
            """
            -- cache.look
            WITH wanted AS MATERIALIZED (
                SELECT DISTINCT tenant_id, session_id, key
                FROM unnest(
                    \(places.map(\.session.tenant)), \(places.map(\.session.session)), \(places.map(\.key))
                ) AS wanted (tenant_id, session_id, key)
            ), found AS MATERIALIZED (
                SELECT e.ctid AS row, e.used_at, e.tenant_id, e.session_id, e.key, e.entry, e.body, e.blob_id
                FROM wanted w
                CROSS JOIN \(entries(of: "w")) e
            ), idle AS MATERIALIZED (
                SELECT e.ctid AS row
                FROM found f
                JOIN cache_entries e ON e.ctid = f.row
                WHERE f.used_at < now() - interval '1 minute'
                -- Whoever else is at it notes the same.
                FOR UPDATE OF e SKIP LOCKED
            ), used AS (
                UPDATE cache_entries e SET used_at = now() FROM idle i WHERE e.ctid = i.row
            )
            SELECT tenant_id, session_id, key, entry, body, blob_id FROM found
            """
        )
        var entries: [Place: [StoredEntry]] = [:]
        for row in rows {
            let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
            guard let entry = CacheEntry(bytes: try row.decode([UInt8].self, at: 3)[...]) else { continue }
            let body: Body =
                if let blob = try row.decode(Blob.ID?.self, at: 5) {
                    .blob(blob)
                } else {
                    .bytes(try row.decode([UInt8]?.self, at: 4) ?? [])
                }
            entries[Place(session: session, key: try row.decode(at: 2)), default: []].append(
                StoredEntry(entry: entry, body: body))
        }
        return places.map { entries[$0] ?? [] }
    }

    /// The stored responses, the latest first.
    func list(
        _ filter: CacheFilter,
        of tenant: Tenant.ID,
        after position: CachePosition?,
        limit: Int
    ) async throws -> [CachedAnswer] {
        // The largest that PostgreSQL takes, when the list begins.
        let time = position?.respondedAt ?? UnixTime(microseconds: .max).timestamp
        let rows = try await client.of(tenant).query(
            """
            -- cache.list
            SELECT e.session_id, e.entry, e.tags
            FROM cache_entries e
            WHERE e.tenant_id = \(tenant) AND \(Self.chosen(by: filter))
                AND (e.responded_at, e.id) < (\(time), \(position?.id ?? .max))
            ORDER BY e.responded_at DESC, e.id DESC
            LIMIT \(limit)
            """
        )
        return try rows.compactMap { row in
            guard let entry = CacheEntry(bytes: try row.decode([UInt8].self, at: 1)[...]) else { return nil }
            return CachedAnswer(session: try row.decode(at: 0), entry: entry, tags: try row.decode(at: 2))
        }
    }

    /// Where the body of an answer lies; nil when it is there no more.
    func body(of position: CachePosition, tenant: Tenant.ID) async throws -> StoredBody.Location? {
        let rows = try await client.of(tenant).query(
            """
            -- cache.body
            SELECT body, blob_id
            FROM cache_entries
            WHERE tenant_id = \(tenant) AND responded_at = \(position.respondedAt) AND id = \(position.id)
            """
        )
        guard let row = rows.first else { return nil }
        if let blob = try row.decode(Blob.ID?.self, at: 1) { return .blob(blob) }
        return .inline(try row.decode(at: 0))
    }

    /// The condition on `cache_entries e` that a filter stands for.
    static func chosen(by filter: CacheFilter) -> Query {
        // Written out only where it is asked for, so that its index is used.
        guard let id = filter.answer else { return chosenByMembers(filter) }
        guard let position = CachePosition(id) else { return "false" }
        return """
            e.responded_at = \(position.respondedAt) AND e.id = \(position.id) AND \(chosenByMembers(filter))
            """
    }

    private static func chosenByMembers(_ filter: CacheFilter) -> Query {
        """
        (\(filter.session)::uuid IS NULL OR e.session_id = \(filter.session))
            AND (\(filter.url)::text IS NULL OR e.url = \(filter.url))
            AND (\(filter.host)::text IS NULL OR e.host = \(filter.host))
            AND (\(filter.prefix)::text IS NULL OR starts_with(e.url, \(filter.prefix)))
            AND (\(filter.tag)::text IS NULL OR \(filter.tag) = ANY (e.tags))
            AND (\(filter.since)::timestamptz IS NULL OR e.responded_at >= \(filter.since))
        """
    }
}
