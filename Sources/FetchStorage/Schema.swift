package import Postgres

/// The database's schema: the files of `migrations/`, compiled in.
package enum Schema {
    /// In the order of their numbers.
    package static var migrations: [Migration] {
        Embedded.files.sorted { $0.key < $1.key }.map { Migration(name: $0.key, sql: $0.value) }
    }

    /// The number of the last migration.
    package static var version: Int {
        migrations.compactMap { Int($0.name.prefix { $0 != "_" }) }.max() ?? 0
    }
}
