import Postgres
import TestSupport
import Testing

@Suite struct ConnectionTests {
    private func failure(of query: Query, on connection: Connection) async -> PostgresError? {
        do {
            try await connection.query(query)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a failing query leaves those before and after it alone`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            async let before = connection.query("SELECT \(1)")
            async let failing = failure(of: "SELECT 1 / \(0)", on: connection)
            async let after = connection.query("SELECT \(3)")
            #expect(try await before.first?.decode(Int.self, at: 0) == 1)
            #expect(try await after.first?.decode(Int.self, at: 0) == 3)
            let error = await failing
            #expect(error?.sqlState == "22012")
            #expect(error?.code.rawValue == "data_exception")
            #expect(error?.isTransient == false)
            await connection.close()
        }
    }

    // Proves: SEC-52.
    @Test func `neither description nor reflection of a configuration shows its passwords`() {
        var configuration = Client.Configuration(connectionString: "postgresql://fetchd:canary@a.example/x")
        configuration.directConnectionString = configuration.connection.connectionString
        var reflected = ""
        dump(configuration, to: &reflected)
        dump(configuration.direct, to: &reflected)
        let described = "\(configuration) \(configuration.connection) \(String(reflecting: configuration.direct))"
        #expect(!reflected.contains("canary") && !described.contains("canary"))
    }

    @Test(arguments: [("", "off"), (" options='-c jit=on'", "on")])
    func `statements are not compiled, unless the connection string says so`(
        options: String, expected: String
    ) async throws {
        try await TestDatabase.with { database in
            let configuration = Connection.Configuration(connectionString: database.connectionString + options)
            let connection = try await Connection.open(configuration, on: TestDatabase.loop)
            let row = try await connection.query("SELECT setting, source FROM pg_settings WHERE name = 'jit'").first
            #expect(try row?.decode(String.self, at: 0) == expected)
            #expect(try row?.decode(String.self, at: 1) == "client")
            await connection.close()
        }
    }

    @Test func `a violated constraint is named`() async throws {
        try await TestDatabase.with { database in
            try await database.client.query("CREATE TABLE t (n int CONSTRAINT t_positive CHECK (n > 0))")
            await #expect {
                try await database.client.query("INSERT INTO t VALUES (\(Int32(-1)))")
            } throws: { error in
                let error = error as? PostgresError
                return error?.code == .checkViolation && error?.constraint == "t_positive"
            }
        }
    }

    @Test func `a statement that cannot be prepared fails each time with its own reason`() async throws {
        try await TestDatabase.with { database in
            for _ in 0..<3 {
                await #expect {
                    try await database.client.query("SELECT nothing FROM nowhere")
                } throws: { ($0 as? PostgresError)?.code == .undefinedTable }
            }
            try await database.client.query("SELECT 1")
        }
    }

    @Test func `a prepared statement survives that the server drops it or its columns change`() async throws {
        try await TestDatabase.with(configure: { $0.maximumConnections = 1 }) { database in
            let client = database.client
            func columns() async throws -> Int {
                try await client.query("SELECT * FROM t").column("b") == nil ? 1 : 2
            }
            try await client.query("CREATE TABLE t (a int)")
            #expect(try await columns() == 1)
            try await client.query("DEALLOCATE ALL")
            #expect(try await columns() == 1)
            try await client.query("ALTER TABLE t ADD COLUMN b int")
            #expect(try await columns() == 2)
        }
    }

    @Test func `hundreds of queries under way on one connection are answered in order`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        try await connection.query("SELECT \(number)").first?.decode(Int.self, at: 0) == number
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            await connection.close()
        }
    }

    @Test func `a megabyte goes out and comes back`() async throws {
        try await TestDatabase.with { database in
            let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let row = try #require(await database.client.query("SELECT \(bytes)").first)
            #expect(try row.decode([UInt8].self, at: 0) == bytes)
        }
    }

    @Test func `a lost connection fails all that is under way with a word of its own`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            let process: Int32 = try #require(
                try await connection.query("SELECT pg_backend_pid()").first?.decode(at: 0))
            async let sleeping = failure(of: "SELECT pg_sleep(60)", on: connection)
            var isAsleep = false
            while !isAsleep {
                isAsleep = try await !database.client.query(
                    "SELECT pid FROM pg_stat_activity WHERE pid = \(process) AND wait_event = 'PgSleep'"
                ).isEmpty
            }
            async let behind = failure(of: "SELECT 1", on: connection)
            try await database.client.query("SELECT pg_terminate_backend(\(process))")
            #expect(await sleeping?.code == .connectionLost)
            // It may have been asked for after the loss.
            let late = try #require(await behind?.code)
            #expect([.connectionLost, .unavailable].contains(late))
            await #expect {
                try await connection.query("SELECT 1")
            } throws: { ($0 as? PostgresError)?.code == .unavailable }
        }
    }

    @Test func `a server that does not answer in time is given up`() async throws {
        try await TestDatabase.with(configure: { $0.connection.answerTimeout = .seconds(1) }) { database in
            await #expect {
                try await database.client.query("SELECT pg_sleep(60)")
            } throws: { ($0 as? PostgresError)?.code == .timedOut }
            try await database.client.query("SELECT 1")
        }
    }

    @Test func `a statement is stopped when that is asked for, and the connection lives on`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            async let sleeping = failure(of: "SELECT pg_sleep(60)", on: connection)
            try await until { await sleepers(database) != 0 }
            await connection.cancelRunningStatement()
            #expect(await sleeping?.code == .queryCanceled)
            try await connection.query("SELECT 1")
            await connection.close()
        }
    }

    /// How many sessions of the database sleep.
    private func sleepers(_ database: TestDatabase) async -> Int {
        let query: Query = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event = 'PgSleep'
            """
        return (try? await database.client.query(query).first?.decode(at: 0)) ?? 0
    }

    @Test func `no server is an error that says so`() async throws {
        let configuration = Connection.Configuration(connectionString: "host=/nonexistent user=nobody")
        await #expect {
            _ = try await Connection.open(configuration, on: TestDatabase.loop)
        } throws: { error in
            let error = error as? PostgresError
            return error?.code == .unavailable && error?.isTransient == true
                && error?.message.contains("/nonexistent") == true
        }
    }

    @Test func `a script runs between the queries asked before and after it`() async throws {
        try await TestDatabase.with { database in
            let connection = try await database.connect()
            async let first = connection.query("SELECT 1")
            async let script: Void = connection.execute(
                script: "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2);")
            _ = try await first
            try await script
            #expect(try await connection.query("SELECT n FROM t").count == 2)
            await #expect {
                try await connection.execute(script: "INSERT INTO t VALUES (3); SELECT nonsense;")
            } throws: { ($0 as? PostgresError)?.sqlState == "42703" }
            #expect(try await connection.query("SELECT n FROM t").count == 2)
            await connection.close()
        }
    }

    @Test func `without prepared statements everything works too`() async throws {
        try await TestDatabase.with(configure: { $0.connection.preparesStatements = false }) { database in
            for number in 0..<3 {
                let row = try await database.client.query("SELECT \(number), \(["x"])").first
                #expect(try row?.decode(Int.self, at: 0) == number)
            }
            let kept = try await database.client.query("SELECT count(*) FROM pg_prepared_statements").first
            #expect(try kept?.decode(Int.self, at: 0) == 0)
        }
    }
}
