import FetchJobs
import Postgres

// The rows of sessions, which tell nodes that answers have changed, and when they were purged.

extension CacheTable {
    /// Locks the rows of the sessions that a `WITH` part names, before any of their answers: everything that writes to
    /// a cache takes these first, and a purge is over before the next answer is stored.
    static func locked(_ part: Query) -> Query {
        """
        locked AS MATERIALIZED (
            SELECT tenant_id, session_id, cache_purged_at
            FROM session_stores
            WHERE (tenant_id, session_id) IN (SELECT tenant_id, session_id FROM \(part))
            ORDER BY tenant_id, session_id
            FOR NO KEY UPDATE
        )
        """
    }

    /// Runs a statement once the rows of sessions are locked; it sees all earlier commits.
    ///
    /// One statement for both would see the state of when it began to wait.
    static func afterLocking(
        _ sessions: [SessionAddress], in database: any TransactionRunner,
        _ body: @Sendable (Connection) async throws -> Rows
    ) async throws -> Rows {
        try await database.transaction { connection in
            try await connection.query(
                """
                -- cache.lock
                WITH asked AS (
                    SELECT *
                    FROM unnest(\(sessions.map(\.tenant)), \(sessions.map(\.session))) AS asked (tenant_id, session_id)
                ), \(locked("asked"))
                SELECT FROM locked
                """
            )
            return try await body(connection)
        }
    }

    /// Raises the versions of the caches of sessions that a query names; more columns may follow its `RETURNING`.
    ///
    /// - Parameter purging: Whether responses on their way now are not to be stored.
    static func raiseVersions(_ sessions: Query, purging: Bool = false) -> Query {
        """
        INSERT INTO session_stores (tenant_id, session_id, layer_ids, cache_version, cache_purged_at)
        SELECT tenant_id, session_id, ARRAY[session_id], 1, CASE WHEN \(purging) THEN now() END
        FROM (\(sessions)) AS changed
        ORDER BY tenant_id, session_id
        ON CONFLICT (tenant_id, session_id) DO UPDATE
        SET cache_version = session_stores.cache_version + 1,
            cache_purged_at = coalesce(excluded.cache_purged_at, session_stores.cache_purged_at)
        RETURNING tenant_id, session_id, cache_version
        """
    }
}
