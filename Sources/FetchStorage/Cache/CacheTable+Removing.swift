import FetchEngine
import FetchJobs
import Postgres

extension CacheTable {
    /// Which entries of a session are to go.
    enum Removal {
        case version(CacheEntry)
        case since(UnixTime)
        case all
    }

    /// Removes entries of a session.
    func remove(_ removal: Removal, of session: SessionAddress) async throws -> Change {
        let chosen: Query =
            switch removal {
            case .version(let entry):
                "e.key = \(Place(entry.key, of: session).key) AND e.id = \(entry.id.number)"
            case .since(let time): "e.responded_at >= \(time.timestamp)"
            case .all: "true"
            }
        let rows = try await Self.afterLocking([session], in: client.of(session.tenant)) { connection in
            try await connection.query(
                """
                -- cache.remove
                WITH removed AS (
                    DELETE FROM cache_entries e
                    WHERE e.tenant_id = \(session.tenant) AND e.session_id = \(session.session) AND \(chosen)
                    RETURNING e.tenant_id, e.session_id, e.blob_id
                )
                \(Self.raiseVersions("SELECT DISTINCT tenant_id, session_id FROM removed")),
                    ARRAY(SELECT blob_id FROM removed WHERE blob_id IS NOT NULL)
                """
            )
        }
        guard let row = rows.first else { return Change() }
        return Change(version: try row.decode(at: 2), blobs: try row.decode(at: 3))
    }

    /// Removes all that is stored for keys, as every request does that may have changed something at an origin.
    static func remove(_ places: [Place], client: Client) async throws -> [Change] {
        let rows = try await afterLocking(places.map(\.session), in: client) { connection in
            try await connection.query(
                """
                -- cache.removeKeys
                WITH found AS MATERIALIZED (
                    -- Mostly nothing: what is changed by a request is seldom what was read by one.
                    SELECT e.tenant_id, e.session_id, e.key, e.selection
                    FROM unnest(
                        \(places.map(\.session.tenant)), \(places.map(\.session.session)), \(places.map(\.key))
                    ) AS changed (tenant_id, session_id, key)
                    CROSS JOIN \(entries(of: "changed")) e
                ), removed AS (
                    DELETE FROM cache_entries e
                    USING found f
                    WHERE e.tenant_id = f.tenant_id AND e.session_id = f.session_id AND e.key = f.key
                        AND e.selection = f.selection
                    RETURNING e.tenant_id, e.session_id, e.blob_id
                ), raised AS (
                    \(raiseVersions("SELECT DISTINCT tenant_id, session_id FROM removed"))
                )
                SELECT tenant_id, session_id, cache_version, NULL::uuid FROM raised
                UNION ALL
                SELECT tenant_id, session_id, NULL, blob_id FROM removed WHERE blob_id IS NOT NULL
                """
            )
        }
        return try changes(rows, of: places.map(\.session))
    }

    /// Removes the entries that a filter chooses from the caches of a tenant, and from the memory of all nodes.
    func purge(_ filter: CacheFilter, of tenant: Tenant.ID) async throws -> (count: Int, blobs: [Blob.ID]) {
        let rows = try await client.of(tenant).transaction { connection in
            try await connection.query(
                """
                -- cache.raisePurged
                -- Of all sessions, for what is in the memory of nodes only may be meant too.
                \(Self.raiseVersions("""
                    SELECT \(tenant) AS tenant_id, id AS session_id
                    FROM (
                        SELECT \(TenantSession.ID.default) AS id
                        UNION ALL
                        SELECT id FROM sessions
                        WHERE tenant_id = \(tenant) AND kind <> 'ephemeral' AND state <> 'invalidated'
                    ) AS sessions
                    WHERE \(filter.session)::uuid IS NULL OR id = \(filter.session)
                    """, purging: true))
                """
            )
            // After the sessions, in whose order responses are stored: so neither waits for the other. And a statement
            // of its own, which sees the responses stored while the first one waited.
            return try await connection.query(
                """
                -- cache.purge
                WITH removed AS (
                    DELETE FROM cache_entries e
                    WHERE e.tenant_id = \(tenant) AND \(Self.chosen(by: filter))
                    RETURNING e.blob_id
                ), \(Query.audited(.purgeCache, filter.session?.description, of: tenant, when: "(SELECT 1) AS purge"))
                SELECT count(*), array_agg(blob_id) FILTER (WHERE blob_id IS NOT NULL)
                FROM removed
                """
            )
        }
        guard let row = rows.first else { return (0, []) }
        return (Int(try row.decode(Int64.self, at: 0)), try row.decode([Blob.ID]?.self, at: 1) ?? [])
    }

    /// Removes the entries used longest ago, until the rest of a tenant's is within a capacity.
    ///
    /// - Returns: The blobs that no entry needs any more, and how many entries there were.
    func evict(_ tenant: Tenant.ID, capacity: Int64) async throws -> (blobs: [Blob.ID], count: Int) {
        let rows = try await client.of(tenant).query(
            """
            -- cache.evict
            WITH surplus AS MATERIALIZED (
                SELECT session_id, key, selection, id
                FROM (
                    SELECT session_id, key, selection, id, sum(cost) OVER (ORDER BY used_at DESC, id) AS total
                    FROM cache_entries
                    WHERE tenant_id = \(tenant)
                ) AS used
                WHERE total > \(capacity)
            )
            DELETE FROM cache_entries e
            USING surplus s
            WHERE e.tenant_id = \(tenant) AND e.session_id = s.session_id AND e.key = s.key
                -- What has come in its place meanwhile was used last.
                AND e.selection = s.selection AND e.id = s.id
            RETURNING e.blob_id
            """
        )
        return (try rows.compactMap { try $0.decode(Blob.ID?.self, at: 0) }, rows.count)
    }
}
