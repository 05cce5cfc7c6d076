import Postgres
import TestSupport
import Testing

@Suite struct MigrationsTests {
    private let first = Migration(name: "0001_a.sql", sql: "CREATE TABLE a (n int); CREATE TABLE b (n int);")
    private let second = Migration(name: "0002_b.sql", sql: "ALTER TABLE a ADD COLUMN m int")

    private func expect(
        _ code: MigrationError.Code, from list: [Migration], after earlier: [Migration],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await TestDatabase.with(earlier) { database in
            let connection = try await database.connect()
            await #expect(sourceLocation: sourceLocation) {
                try await Migrations(list).apply(on: connection)
            } throws: { ($0 as? MigrationError)?.code == code }
            await connection.close()
        }
    }

    // Proves: REL-18.
    @Test func `each is applied once, in the order of names`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            #expect(try await Migrations([second, first]).status(on: connection).map(\.appliedAt) == [nil, nil])
            #expect(try await Migrations([second, first]).apply(on: connection) == ["0001_a.sql", "0002_b.sql"])
            #expect(try await Migrations([first, second]).apply(on: connection) == [])
            #expect(try await Migrations([first, second]).status(on: connection).allSatisfy { $0.appliedAt != nil })
            await connection.close()
        }
    }

    @Test func `a schema that is called like the user does not take the tables that come after it`() async throws {
        let schema = Migration(
            name: "0002_s.sql", sql: "DO $$ BEGIN EXECUTE format('CREATE SCHEMA %I', current_user); END $$")
        let third = Migration(name: "0003_c.sql", sql: "CREATE TABLE c (n int)")
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            #expect(try await Migrations([first, schema]).apply(on: connection).count == 2)
            let again = try await database.connect()
            #expect(try await Migrations([first, schema, third]).apply(on: again) == ["0003_c.sql"])
            let rows = try await again.query("SELECT to_regclass('public.c') IS NOT NULL")
            #expect(try rows.first?.decode(Bool.self, at: 0) == true)
            await connection.close()
            await again.close()
        }
    }

    @Test func `several processes at once apply each once`() async throws {
        try await TestDatabase.with { database in
            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        let connection = try await database.connect()
                        let applied = try await Migrations([first, second]).apply(on: connection)
                        await connection.close()
                        return applied
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied == ["0001_a.sql", "0002_b.sql"])
        }
    }

    // Proves: REL-18.
    @Test func `one that fails leaves nothing of itself, and those before it stay`() async throws {
        let broken = Migration(name: "0002_b.sql", sql: "CREATE TABLE c (n int); SELECT nonsense;")
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            await #expect {
                try await Migrations([first, broken]).apply(on: connection)
            } throws: { error in
                let error = error as? MigrationError
                return error?.code == .failed && error?.underlying?.sqlState == "42703"
            }
            let row = try await connection.query("SELECT to_regclass('a') IS NULL, to_regclass('c') IS NULL").first
            #expect(try row?.decode(Bool.self, at: 0) == false)
            #expect(try row?.decode(Bool.self, at: 1) == true)
            await connection.close()
        }
    }

    // Proves: REL-18.
    @Test func `an edited file is refused`() async throws {
        try await expect(.edited, from: [Migration(name: first.name, sql: first.sql + " ")], after: [first])
    }

    // Proves: REL-18.
    @Test func `a program runs over a later schema, unless a step of it requires a later program`() async throws {
        let third = Migration(name: "0003_c.sql", sql: "ALTER TABLE a DROP COLUMN m;\n-- Requires: 0002_b.sql\n")
        #expect(third.requirement == "0002_b.sql" && second.requirement == nil)
        try await expect(.newerSchema, from: [first], after: [first, second, third])
        for (program, schema) in [([first], [first, second]), ([first, second], [first, second, third])] {
            try await TestDatabase.with(schema) { database in
                let connection = try await database.connect()
                #expect(try await Migrations(program).apply(on: connection) == [])
                try await Migrations(program).examine(on: connection)
                await connection.close()
            }
        }
    }

    @Test func `a schema that a program may not bring up to date is examined, and left as it is`() async throws {
        try await TestDatabase.with([first]) { database in
            let connection = try await database.connect()
            try await Migrations([first]).examine(on: connection)
            await #expect {
                try await Migrations([first, second]).examine(on: connection)
            } throws: { ($0 as? MigrationError)?.code == .olderSchema }
            #expect(try await Migrations([first, second]).status(on: connection).last?.appliedAt == nil)
            await connection.close()
        }
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            await #expect {
                try await Migrations([first]).examine(on: connection)
            } throws: { ($0 as? MigrationError)?.code == .olderSchema }
            await connection.close()
        }
    }

    // Proves: REL-18.
    @Test func `a step that waits for a lock lets others pass, and is tried again`() async throws {
        var patience = Migrations.LockPatience()
        (patience.limit, patience.pause, patience.tries) = (.milliseconds(50), .milliseconds(10), 3)
        try await TestDatabase.with([first]) { [patience] database in
            let (connection, reader) = (try await database.connect(), try await database.connect())
            try await reader.query("BEGIN")
            try await reader.query("SELECT * FROM a")
            await #expect {
                try await Migrations([first, second], patience: patience).apply(on: connection)
            } throws: { error in
                let error = error as? MigrationError
                return error?.code == .failed && error?.message.contains("End the transactions that hold it") == true
            }
            async let applied = Migrations([first, second]).apply(on: connection)
            // It waits now, and gives way after two seconds: this reads the table then.
            let other = try await database.connect()
            try await other.query("SELECT * FROM a")
            try await reader.query("COMMIT")
            #expect(try await applied == ["0002_b.sql"])
            for connection in [connection, reader, other] { await connection.close() }
        }
    }

    @Test func `a ledger that begins otherwise is a pre-release's, and refused`() async throws {
        let old = Migration(name: "0001_z.sql", sql: "CREATE TABLE z (n int)")
        try await expect(.preRelease, from: [first, second], after: [old])
    }

    @Test func `one that comes before what was applied is refused`() async throws {
        let later = Migration(name: "0003_c.sql", sql: "CREATE TABLE c (n int)")
        try await expect(.outOfOrder, from: [first, later], after: [later])
    }
}
