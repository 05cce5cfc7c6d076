import Crypto
import FetchEngine
import FetchJobs
import HTTPTypes
import Postgres

extension CacheTable {
    /// An entry whose body has come whole.
    struct Storing: Sendable {
        let place: Place
        let selection: [UInt8]
        let entry: CacheEntry
        let body: Body

        init(_ entry: CacheEntry, _ body: Body, in session: SessionAddress) {
            place = Place(entry.key, of: session)
            let names = Array(entry.selection.names.joined(separator: ",").utf8)
            selection = Array(SHA256.hash(data: names + [0] + entry.selection.digest))
            self.entry = entry.withoutCookies
            self.body = body
        }
    }

    /// An entry that has the body of another version.
    struct Refreshing: Sendable {
        let place: Place
        let entry: CacheEntry
        let old: CacheEntry.ID
    }

    /// The effects of a write that the cache acts on.
    struct Change: Sendable {
        /// The version of the session's cache with this write; nil when other nodes need not know it.
        var version: Int64?
        /// The blobs that no entry needs any more.
        var blobs: [Blob.ID] = []
        /// Nothing was stored: the cache was purged since it was asked for.
        var isRefused = false
    }

    /// Stores entries in place of those that the same requests select.
    static func store(_ all: [Storing], client: Client) async throws -> [Change] {
        let items = lastOfEach(all)
        let rows = try await client.query(
            """
            -- cache.store
            WITH answer AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(items.map(\.place.session.tenant)),
                    \(items.map(\.place.session.session)),
                    \(items.map(\.place.key)),
                    \(items.map(\.selection)),
                    \(items.map(\.entry.id.number)),
                    \(items.map { $0.entry.selection.variedNames.joined(separator: ",") }),
                    \(items.map(\.entry.key.url)),
                    \(items.map { $0.entry.response.url.host ?? "" }),
                    \(items.map { $0.entry.tags.joined(separator: " ") }),
                    \(items.map(\.entry.bytes)),
                    \(items.map(\.body.bytes)),
                    \(items.map(\.body.blob)),
                    \(items.map(\.entry.cost)),
                    \(items.map(\.entry.responseTime.timestamp)),
                    \(items.map(\.entry.requestTime.timestamp)),
                    \(items.map(\.entry.timeSinceRequest))
                ) AS answer (
                    tenant_id, session_id, key, selection, id, varied_names, url, host, tags, entry, body, blob_id,
                    cost, responded_at, requested_at, time_since_request
                )
            ), \(locked("answer")), input AS MATERIALIZED (
                SELECT a.*
                FROM answer a
                LEFT JOIN locked s ON s.tenant_id = a.tenant_id AND s.session_id = a.session_id
                WHERE s.cache_purged_at IS NULL
                    -- The node's clock may be another, and the statement may have waited: the earlier is right enough.
                    OR s.cache_purged_at < least(a.requested_at, now() - a.time_since_request)
            ), crowd AS MATERIALIZED (
                SELECT e.tenant_id, e.session_id, e.key, e.selection, e.blob_id, i.selection AS new_selection,
                    e.varied_names <> i.varied_names
                    OR row_number() OVER (
                        PARTITION BY e.tenant_id, e.session_id, e.key, i.selection ORDER BY e.responded_at DESC
                    ) >= \(Int64(MemoryTier.maximumVariants)) AS is_over
                FROM input i
                CROSS JOIN \(entries(of: "i")) e
            ), surplus AS (
                DELETE FROM cache_entries e
                USING crowd c
                WHERE c.is_over AND e.tenant_id = c.tenant_id AND e.session_id = c.session_id AND e.key = c.key
                    AND e.selection = c.selection
                    -- Those are about to be replaced, which a statement cannot do once it has deleted them.
                    AND NOT EXISTS (
                        SELECT
                        FROM input i
                        WHERE i.tenant_id = e.tenant_id AND i.session_id = e.session_id AND i.key = e.key
                            AND i.selection = e.selection
                    )
                RETURNING e.tenant_id, e.session_id, e.blob_id
            ), replaced AS (
                SELECT tenant_id, session_id, blob_id FROM crowd WHERE selection = new_selection
                UNION ALL
                SELECT tenant_id, session_id, blob_id FROM surplus
            ), stored AS (
                INSERT INTO cache_entries (
                    tenant_id, session_id, key, selection, id, varied_names, url, host, tags, entry, body, blob_id,
                    cost, responded_at
                )
                SELECT tenant_id, session_id, key, selection, id, varied_names, url, host,
                    string_to_array(tags, ' '), entry, body, blob_id, cost, responded_at
                FROM input
                -- In one order, so that two nodes that store the same cannot wait for each other.
                ORDER BY tenant_id, session_id, key, selection
                ON CONFLICT (tenant_id, session_id, key, selection) DO UPDATE
                SET id = excluded.id, varied_names = excluded.varied_names, url = excluded.url, host = excluded.host,
                    tags = excluded.tags, entry = excluded.entry, body = excluded.body, blob_id = excluded.blob_id,
                    cost = excluded.cost, responded_at = excluded.responded_at, used_at = now()
            ), raised AS (
                \(raiseVersions("""
                    SELECT DISTINCT i.tenant_id, i.session_id
                    FROM input i
                    WHERE EXISTS (
                            SELECT FROM replaced r WHERE r.tenant_id = i.tenant_id AND r.session_id = i.session_id
                        )
                        OR NOT EXISTS (
                            SELECT
                            FROM session_stores s
                            WHERE s.tenant_id = i.tenant_id AND s.session_id = i.session_id AND s.cache_version > 0
                        )
                    """))
            )
            SELECT tenant_id, session_id, cache_version, NULL::uuid, NULL::bigint FROM raised
            UNION ALL
            SELECT tenant_id, session_id, NULL, blob_id, NULL FROM replaced WHERE blob_id IS NOT NULL
            UNION ALL
            SELECT tenant_id, session_id, NULL, NULL, id FROM answer WHERE id NOT IN (SELECT id FROM input)
            """
        )
        let refused = Set(try rows.compactMap { try $0.decode(Int64?.self, at: 4) })
        return zip(all, try changes(rows, of: all.map(\.place.session))).map { item, change in
            var change = change
            if refused.contains(item.entry.id.number) {
                change.isRefused = true
                if let blob = item.body.blob { change.blobs.append(blob) }
            }
            return change
        }
    }

    /// Stores entries with the bodies of other versions, unless those are no longer there.
    static func refresh(_ items: [Refreshing], client: Client) async throws -> [Change] {
        let rows = try await client.query(
            """
            -- cache.refresh
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(items.map(\.place.session.tenant)),
                    \(items.map(\.place.session.session)),
                    \(items.map(\.place.key)),
                    \(items.map(\.old.number)),
                    \(items.map(\.entry.id.number)),
                    \(items.map { $0.entry.tags.joined(separator: " ") }),
                    \(items.map(\.entry.bytes)),
                    \(items.map(\.entry.cost)),
                    \(items.map(\.entry.responseTime.timestamp))
                ) AS input (tenant_id, session_id, key, old_id, id, tags, entry, cost, responded_at)
            ), raised AS (
                \(raiseVersions("SELECT DISTINCT tenant_id, session_id FROM input"))
            ), refreshed AS (
                UPDATE cache_entries e
                SET id = i.id, tags = string_to_array(i.tags, ' '), entry = i.entry, cost = i.cost,
                    responded_at = i.responded_at, used_at = now()
                FROM input i
                WHERE e.tenant_id = i.tenant_id AND e.session_id = i.session_id AND e.key = i.key AND e.id = i.old_id
                    -- After the sessions, in whose order answers are stored: so neither waits for the other.
                    AND (SELECT count(*) FROM raised) >= 0
            )
            SELECT tenant_id, session_id, cache_version, NULL::uuid FROM raised
            """
        )
        return try changes(rows, of: items.map(\.place.session))
    }

    /// One statement may change a row once; of several writes to one entry the last counts.
    private static func lastOfEach(_ items: [Storing]) -> [Storing] {
        struct Entry: Hashable {
            let place: Place
            let selection: [UInt8]
        }
        guard items.count > 1 else { return items }
        var seen: Set<Entry> = []
        return items.reversed().filter { seen.insert(Entry(place: $0.place, selection: $0.selection)).inserted }
    }

    /// The effects of each write of a batch; the first write of a session has the blobs.
    static func changes(_ rows: Rows, of sessions: [SessionAddress]) throws -> [Change] {
        var changes: [SessionAddress: Change] = [:]
        for row in rows {
            let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
            if let version = try row.decode(Int64?.self, at: 2) {
                changes[session, default: Change()].version = version
            }
            if let blob = try row.decode(Blob.ID?.self, at: 3) {
                changes[session, default: Change()].blobs.append(blob)
            }
        }
        return sessions.map { session in
            defer { changes[session]?.blobs = [] }
            return changes[session] ?? Change()
        }
    }
}

extension CacheTable.Body {
    fileprivate var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    fileprivate var blob: Blob.ID? { if case .blob(let id) = self { id } else { nil } }
}

extension CacheEntry.ID {
    /// As a `bigint` holds it.
    var number: Int64 { Int64(bitPattern: rawValue) }
}

extension CacheEntry {
    /// How long ago it was requested, in one clock: the clocks of the nodes and the database may differ.
    fileprivate var timeSinceRequest: Duration {
        .microseconds(max(0, UnixTime.now.microseconds - requestTime.microseconds))
    }

    private static let tagFields = ["Cache-Tag", "Surrogate-Key"].map(HTTPField.Name.init(constant:))

    /// The tags that the origin gave the response: words between commas or spaces, 64 at most.
    fileprivate var tags: [String] {
        var words: Set<String> = []
        for value in Self.tagFields.flatMap({ response.headerFields[values: $0] }) {
            words.formUnion(value.split { [",", " ", "\t"].contains($0) }.map { String($0) })
        }
        return Array(words.sorted().prefix(64))
    }
}
