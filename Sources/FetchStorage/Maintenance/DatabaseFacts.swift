package import FetchJobs
package import Postgres

/// What a database says of itself.
package struct DatabaseFacts: Sendable {
    /// The oldest release of PostgreSQL that the statements are made for.
    package static let oldestRelease = 14

    /// Such as `15.20`.
    package let version: String
    package let release: Int
    package let now: Timestamp
    package let maximumConnections: Int

    /// Asks it.
    package init(client: Client) async throws(StoreError) {
        let row = try await StoreError.wrap {
            try await client.query(
                """
                -- database.facts
                SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
                    clock_timestamp(), current_setting('max_connections')::int
                """
            ).first
        }
        guard let row else { throw StoreError(.unavailable, "The database tells nothing of itself.") }
        (version, release, now, maximumConnections) = try await StoreError.wrap {
            (
                try row.decode(String.self, at: 0), Int(try row.decode(Int32.self, at: 1)),
                try row.decode(Timestamp.self, at: 2), Int(try row.decode(Int32.self, at: 3))
            )
        }
    }
}
