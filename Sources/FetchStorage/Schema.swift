package import Postgres

/// The database's schema: the files of `migrations/`, compiled in.
package enum Schema {
    /// In the order of their numbers.
    package static var migrations: [Migration] {
        Embedded.files.sorted { $0.key < $1.key }.map { Migration(name: $0.key, sql: $0.value) }
    }

    /// What brings the schema up to date: the migrations, and behind them the distribution of tables, where they can be.
    package static var steps: Migrations {
        Migrations(migrations, closing: "-- migrations.distribute\nSELECT distribute_tables()")
    }

    /// Whether the database is one that spreads tables over several servers: it has the extension Citus.
    package static func isSharded(in client: Client) async throws -> Bool {
        let rows = try await client.query(
            """
            -- database.isSharded
            SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
            """)
        return try rows.first?.decode(at: 0) ?? false
    }

    /// The number of the last migration.
    package static var version: Int {
        migrations.compactMap { Int($0.name.prefix { $0 != "_" }) }.max() ?? 0
    }
}
