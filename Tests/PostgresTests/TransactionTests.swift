import Postgres
import TestSupport
import Testing

@Suite struct TransactionTests {
    private struct Refusal: Error {}

    private static let table = [Migration(name: "0001_t.sql", sql: "CREATE TABLE t (n bigint PRIMARY KEY)")]

    private static func count(_ runner: some QueryRunner) async throws -> Int {
        try await runner.query("SELECT count(*) FROM t").first?.decode(at: 0) ?? -1
    }

    @Test func `what a transaction wrote is there when it returns, and not before`() async throws {
        try await TestDatabase.with(Self.table) { database in
            try await database.client.transaction { connection in
                try await connection.query("INSERT INTO t VALUES (\(1))")
                #expect(try await Self.count(database.client) == 0)
                #expect(try await Self.count(connection) == 1)
            }
            #expect(try await Self.count(database.client) == 1)
        }
    }

    @Test func `what throws is rolled back and its error comes through`() async throws {
        try await TestDatabase.with(Self.table) { database in
            await #expect(throws: Refusal.self) {
                try await database.client.transaction { connection in
                    try await connection.query("INSERT INTO t VALUES (\(1))")
                    throw Refusal()
                }
            }
            let count = try await Self.count(database.client)
            #expect(count == 0)
        }
    }

    @Test func `nothing runs outside of a transaction that did not begin`() async throws {
        try await TestDatabase.with(Self.table, configure: { $0.maximumConnections = 1 }) { database in
            try await database.client.transaction { connection in _ = try await connection.query("SELECT 1") }
            // As a pooler does: BEGIN, which was prepared, is not known any more.
            try await database.client.query("DEALLOCATE ALL")
            await #expect {
                try await database.client.transaction { connection in
                    _ = try? await connection.query("SELECT 1")
                    _ = try? await connection.query("INSERT INTO t VALUES (\(1))")
                }
            } throws: { ($0 as? PostgresError)?.code == .transactionAborted }
            let count = try await Self.count(database.client)
            #expect(count == 0)
        }
    }

    @Test func `a transaction whose failed statement was ignored does not pretend to have committed`() async throws {
        try await TestDatabase.with(Self.table) { database in
            await #expect {
                try await database.client.transaction { connection in
                    try await connection.query("INSERT INTO t VALUES (\(1))")
                    _ = try? await connection.query("INSERT INTO t VALUES (\(1))")
                }
            } throws: { ($0 as? PostgresError)?.code == .transactionAborted }
            let count = try await Self.count(database.client)
            #expect(count == 0)
        }
    }

    @Test func `a transaction without a statement sends nothing`() async throws {
        try await TestDatabase.with { database in
            let value = try await database.client.transaction { _ in 7 }
            #expect(value == 7)
        }
    }

    @Test func `a first statement that fails leaves no transaction open`() async throws {
        try await TestDatabase.with(Self.table, configure: { $0.maximumConnections = 1 }) { database in
            await #expect(throws: PostgresError.self) {
                try await database.client.transaction { try await $0.query("SELECT nonsense") }
            }
            try await database.client.query("INSERT INTO t VALUES (\(1))")
            #expect(try await Self.count(database.client) == 1)
        }
    }

    @Test func `a connection given back with an open transaction is not lent again`() async throws {
        try await TestDatabase.with(Self.table, configure: { $0.maximumConnections = 1 }) { database in
            try await database.client.withConnection { connection in
                try await connection.query("BEGIN")
                try await connection.query("INSERT INTO t VALUES (\(1))")
            }
            let count = try await Self.count(database.client)
            #expect(count == 0)
        }
    }
}
