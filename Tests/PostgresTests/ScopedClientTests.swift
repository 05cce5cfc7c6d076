import Postgres
import TestSupport
import Testing

@Suite struct ScopedClientTests {
    private func expect(
        _ name: String, in runner: some QueryRunner, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let rows = try await runner.query("SELECT coalesce(current_setting('test.name', true), '')")
        let found = try rows.first?.decode(String.self, at: 0)
        #expect(found == name, sourceLocation: sourceLocation)
    }

    @Test(arguments: [true, false])
    func `settings hold for one statement, and for one transaction`(prepares: Bool) async throws {
        try await TestDatabase.with(configure: {
            $0.maximumConnections = 1
            $0.connection.preparesStatements = prepares
        }) { database in
            let client = database.client
            for name in ["a", "b", "a"] {
                let scoped = client.scoped(by: "SELECT set_config('test.name', \(name), true)")
                try await expect(name, in: scoped)
                try await expect("", in: client)
                try await scoped.transaction { connection in
                    try await expect(name, in: connection)
                    try await expect(name, in: connection)
                }
                try await expect("", in: client)
            }
        }
    }

    @Test func `a statement that is refused leaves no setting behind, and the next one runs`() async throws {
        try await TestDatabase.with(configure: { $0.maximumConnections = 1 }) { database in
            let scoped = database.client.scoped(by: "SELECT set_config('test.name', \("a"), true)")
            let unsound = database.client.scoped(by: "SELECT set_config('no.such setting', \("a"), true)")
            for _ in 0..<2 {
                await #expect(throws: PostgresError.self) { try await scoped.query("SELECT 1 / 0") }
                await #expect(throws: PostgresError.self) { try await scoped.query("SELECT no_such_column") }
                await #expect(throws: PostgresError.self) { try await unsound.query("SELECT 1") }
                try await expect("", in: database.client)
                try await expect("a", in: scoped)
            }
        }
    }

    @Test func `statements that the server has forgotten are prepared anew`() async throws {
        try await TestDatabase.with(configure: { $0.maximumConnections = 1 }) { database in
            let scoped = database.client.scoped(by: "SELECT set_config('test.name', \("a"), true)")
            for _ in 0..<3 {
                try await expect("a", in: scoped)
                try await expect("", in: database.client)
                try await database.client.query("DEALLOCATE ALL")
            }
            try await expect("a", in: scoped)
        }
    }
}
