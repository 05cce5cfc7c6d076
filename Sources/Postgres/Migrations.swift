package import FoundationEssentials

/// One step of a schema, as a file of SQL.
package struct Migration: Sendable {
    /// The file's name, `NNNN_name.sql`; its order is the order of names.
    package let name: String
    package let sql: String
    /// The last migration that a program must know at least to run over a schema with this one; nil when every program
    /// may that runs over the schema before it.
    ///
    /// A line `-- Requires: NNNN_name.sql` of the file. A step that takes away what programs use has one.
    package var requirement: String? {
        let lines = sql.split(separator: "\n")
        return lines.first { $0.hasPrefix(Self.mark) }.map { String($0.dropFirst(Self.mark.count)) }
    }

    private static let mark = "-- Requires: "

    package init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}

/// A schema that cannot be brought up to date as it is.
package struct MigrationError: Error, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A migration that was applied reads differently now.
        case edited
        /// The ledger knows migrations that this program does not, and one of them needs a newer program.
        case newerSchema = "newer_schema"
        /// The ledger begins with a migration that this program does not know: a pre-release made it.
        case preRelease = "pre_release"
        /// A migration not yet applied sorts before one that was.
        case outOfOrder = "out_of_order"
        /// The ledger lacks migrations that this program needs.
        case olderSchema = "older_schema"
        /// A statement of a migration was refused; nothing of that migration remains.
        case failed
    }

    package let code: Code
    /// One sentence for a person, with the next step.
    package let message: String
    package let underlying: PostgresError?

    package var description: String { "\(code.rawValue): \(message)" }
}

/// The migrations a program knows, and the ledger of those a database has had.
package struct Migrations: Sendable {
    package struct Status: Hashable, Sendable {
        package let name: String
        /// When it was applied; nil while it is pending.
        package let appliedAt: Date?
    }

    private struct Entry {
        let checksum: String
        let appliedAt: Date
        let requirement: String?
    }

    /// How long statements wait behind one of a migration that waits for a lock, and how often it is tried.
    package struct LockPatience: Sendable {
        package var limit = Duration.seconds(2)
        package var pause = Duration.seconds(3)
        package var tries = 60

        package init() {}
    }

    private let list: [Migration]
    private let patience: LockPatience
    private let closing: Query?

    /// - Parameters:
    ///   - list: In any order; names are unique.
    ///   - closing: Runs after all of them each time, under their lock; changes nothing where it has run before.
    package init(_ list: [Migration], patience: LockPatience = LockPatience(), closing: Query? = nil) {
        self.patience = patience
        self.closing = closing
        self.list = list.sorted { $0.name < $1.name }
        precondition(Set(list.map(\.name)).count == list.count, "two migrations have one name")
    }

    /// Applies pending migrations, each in a transaction of its own, under a lock that one process holds at a time.
    ///
    /// - Parameter connection: A direct one: the lock belongs to the session.
    /// - Returns: the names applied now.
    @discardableResult
    package func apply(on connection: Connection) async throws -> [String] {
        // A migration takes its time, and waits for another process that migrates.
        for timeout in Self.timeouts { try await connection.execute(script: "SET \(timeout) = 0") }
        try await connection.query("SELECT pg_advisory_lock(\(Self.lock))")
        do {
            let applied = try await applyPending(on: connection)
            if let closing { try await connection.query(closing) }
            try await finish(on: connection)
            return applied
        } catch {
            // The session's end unlocks as well, and the first error is the one to report.
            _ = try? await finish(on: connection)
            throw error
        }
    }

    private static let timeouts = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]

    private func finish(on connection: Connection) async throws {
        for setting in ["search_path"] + Self.timeouts { try await connection.execute(script: "RESET \(setting)") }
        try await connection.query("SELECT pg_advisory_unlock(\(Self.lock))")
    }

    /// Every migration known, and whether and when it was applied.
    ///
    /// Changes nothing.
    package func status(on connection: Connection) async throws -> [Status] {
        let ledger = try await hasLedger(on: connection) ? await ledger(on: connection) : [:]
        return list.map { Status(name: $0.name, appliedAt: ledger[$0.name]?.appliedAt) }
    }

    /// The word "fetchd" in ASCII: an arbitrary number that nobody else is likely to lock.
    private static var lock: Int64 { 0x6665_7463_6864 }

    /// Sees that this program can run over the schema as it is.
    ///
    /// Changes nothing.
    package func examine(on connection: Connection) async throws {
        guard try await hasLedger(on: connection) else {
            throw refusal(.olderSchema, "The database has no schema yet. Run `fetchd migrate` as its owner.")
        }
        let ledger = try await ledger(on: connection)
        try check(ledger, against: try await checksums(on: connection))
        let pending = list.map(\.name).filter { ledger[$0] == nil }
        guard pending.isEmpty else {
            throw refusal(
                .olderSchema,
                "The database has not had \(pending.joined(separator: ", ")). Run `fetchd migrate` as its owner.")
        }
    }

    private func hasLedger(on connection: Connection) async throws -> Bool {
        let rows = try await connection.query("SELECT to_regclass('schema_migrations') IS NOT NULL")
        return try rows.first?.decode(at: 0) ?? false
    }

    private func applyPending(on connection: Connection) async throws -> [String] {
        try await pinSchema(on: connection)
        try await connection.query(
            """
            -- migrations.ledger
            CREATE TABLE IF NOT EXISTS schema_migrations (
                name text PRIMARY KEY,
                checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now(),
                requirement text
            )
            """)
        let ledger = try await ledger(on: connection)
        let checksums = try await checksums(on: connection)
        try check(ledger, against: checksums)
        let pending = list.filter { ledger[$0.name] == nil }
        for migration in pending {
            try await apply(migration, checksum: checksums[migration.name] ?? "", on: connection)
        }
        return pending.map(\.name)
    }

    /// Lets names without a schema mean the one that has the ledger, or is to have it.
    ///
    /// A migration may make a schema that is called like the user: those after it would look there first.
    private func pinSchema(on connection: Connection) async throws {
        try await connection.query(
            """
            -- migrations.schema
            SELECT set_config(
                'search_path',
                coalesce(
                    (
                        SELECT quote_ident(n.nspname)
                        FROM pg_class c
                        JOIN pg_namespace n ON n.oid = c.relnamespace
                        WHERE c.oid = to_regclass('schema_migrations')
                    ),
                    quote_ident(current_schema())
                ),
                false
            )
            """
        )
    }

    /// Gives up a lock that others keep, and tries again: what waits for it holds up every statement behind it.
    private func apply(_ migration: Migration, checksum: String, on connection: Connection) async throws {
        for attempt in 1... {
            do {
                return try await connection.transaction { connection in
                    try await connection.execute(
                        script: "SET LOCAL lock_timeout = \(patience.limit / .milliseconds(1))")
                    try await connection.execute(script: migration.sql)
                    try await connection.query(
                        """
                        -- migrations.record
                        INSERT INTO schema_migrations (name, checksum, requirement)
                        VALUES (\(migration.name), \(checksum), \(migration.requirement))
                        """)
                }
            } catch let error as PostgresError where error.sqlState == "55P03" && attempt < patience.tries {
                try await Task.sleep(for: patience.pause)
            } catch let error as PostgresError {
                let advice = error.sqlState == "55P03" ? " End the transactions that hold it, and try again." : ""
                throw MigrationError(
                    code: .failed, message: "\(migration.name) was refused and undone: \(error.message)\(advice)",
                    underlying: error)
            }
        }
    }

    private func ledger(on connection: Connection) async throws -> [String: Entry] {
        let rows = try await connection.query(
            """
            -- migrations.list
            SELECT name, checksum, applied_at, requirement FROM schema_migrations
            """)
        let entries = try rows.map { row in
            let entry = Entry(
                checksum: try row.decode(at: 1), appliedAt: try row.decode(at: 2), requirement: try row.decode(at: 3))
            return (try row.decode(String.self, at: 0), entry)
        }
        return Dictionary(uniqueKeysWithValues: entries)
    }

    /// The server computes them: it needs no library here, and it is asked anyway.
    private func checksums(on connection: Connection) async throws -> [String: String] {
        let rows = try await connection.query(
            """
            -- migrations.checksums
            SELECT name, encode(sha256(text), 'hex')
            FROM unnest(\(list.map(\.name)), \(list.map { Array($0.sql.utf8) })) AS migration (name, text)
            """)
        let pairs = try rows.map { (try $0.decode(String.self, at: 0), try $0.decode(String.self, at: 1)) }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    private func check(_ ledger: [String: Entry], against checksums: [String: String]) throws {
        if let oldest = ledger.keys.min(), let first = list.first, checksums[oldest] == nil {
            throw refusal(
                .preRelease,
                "A pre-release made this database: its first migration is \(oldest), not \(first.name). "
                    + "No release brings it up to date: make an empty database for this one.")
        }
        let demanding = ledger.filter { name, entry in
            checksums[name] == nil && entry.requirement.map { $0 > (list.last?.name ?? "") } ?? false
        }
        guard demanding.isEmpty else {
            throw refusal(
                .newerSchema,
                "The database has had \(demanding.keys.sorted().joined(separator: ", ")), over which this release "
                    + "cannot run. Start the newer release, or restore a backup made before it.")
        }
        if let edited = list.first(where: {
            ledger[$0.name].map { $0.checksum } ?? checksums[$0.name] != checksums[$0.name]
        }) {
            throw refusal(
                .edited,
                "\(edited.name) was changed after the database had it. Restore the file and write a new migration.")
        }
        if let last = ledger.keys.max(), let late = list.first(where: { $0.name < last && ledger[$0.name] == nil }) {
            throw refusal(
                .outOfOrder, "\(late.name) is not applied but comes before \(last), which is. Give it a higher number.")
        }
    }

    private func refusal(_ code: MigrationError.Code, _ message: String) -> MigrationError {
        MigrationError(code: code, message: message, underlying: nil)
    }
}
