import EventLoop
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct ClientTests {
    @Test func `more callers than connections all get their turn, and no more connections are made than allowed`()
        async throws
    {
        try await TestDatabase.with(configure: { $0.maximumConnections = 3 }) { database in
            let processes = try await withThrowingTaskGroup(of: Int32?.self) { group in
                for _ in 0..<200 {
                    group.addTask { try await database.client.query("SELECT pg_backend_pid()").first?.decode(at: 0) }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect((1...3).contains(processes.count))
        }
    }

    @Test func `who waits too long for a busy connection is told so`() async throws {
        try await TestDatabase.with(configure: {
            $0.maximumConnections = 1
            $0.acquireTimeout = .milliseconds(500)
        }) { database in
            _ = try await database.client.withConnection { _ in
                await #expect {
                    try await database.client.query("SELECT 1")
                } throws: { error in
                    let error = error as? PostgresError
                    return error?.code == .unavailable && error?.message.contains("busy") == true
                }
            }
            try await database.client.query("SELECT 1")
        }
    }

    @Test func `an unreachable server is told with its reason, and the state says since when`() async throws {
        var configuration = Client.Configuration(connectionString: "host=/nonexistent user=nobody")
        configuration.acquireTimeout = .milliseconds(30)
        let client = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
        await #expect {
            try await client.query("SELECT 1")
        } throws: { error in
            let error = error as? PostgresError
            return error?.code == .unavailable && error?.message.contains("/nonexistent") == true
        }
        guard case .unavailable(_, let reason?) = client.state else {
            Issue.record("the state is \(client.state)")
            return
        }
        #expect(reason.code == .unavailable)
        await client.close()
    }

    @Test func `the client comes back after all its connections were lost`() async throws {
        try await TestDatabase.with(configure: { $0.initialBackoff = .milliseconds(1) }) { database in
            try await database.client.query("SELECT 1")
            let outside = try await database.connect()
            try await outside.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """
            )
            // The first query may meet the dying connection; that it is told and that the next succeeds is the claim.
            do {
                try await database.client.query("SELECT 1")
            } catch let error as PostgresError {
                #expect(error.isTransient)
            }
            try await database.client.query("SELECT 1")
            guard case .available = database.client.state else {
                Issue.record("the state is \(database.client.state)")
                return
            }
            await outside.close()
        }
    }

    @Test func `a closed client refuses`() async throws {
        try await TestDatabase.with { database in
            try await database.client.query("SELECT 1")
            await database.client.close()
            await #expect {
                try await database.client.query("SELECT 1")
            } throws: { ($0 as? PostgresError)?.code == .closed }
        }
    }

    @Test func `closing waits for the transaction that is under way`() async throws {
        try await TestDatabase.with { database in
            try await database.client.query("CREATE TABLE t (n int)")
            let (started, start) = AsyncStream.makeStream(of: Void.self)
            async let transaction: Void = database.client.transaction { connection in
                try await connection.query("INSERT INTO t VALUES (1)")
                start.finish()
                try await connection.query("INSERT INTO t VALUES (2)")
            }
            for await _ in started {}
            await database.client.close()
            try await transaction
            let outside = try await database.connect()
            #expect(try await outside.query("SELECT n FROM t").count == 2)
            await outside.close()
        }
    }

    // Callers that prefer another loop: then the database's turns at each call within the client.
    @Test(.timeLimit(.minutes(2)))
    func `a connection that comes free while a caller is on its way to wait for one is not overlooked`() async throws {
        let loop = TaskLoop(name: "callers")
        defer { loop.stop() }
        try await TestDatabase.with(configure: {
            $0.maximumConnections = 1
            $0.acquireTimeout = .seconds(3)
        }) { database in
            for _ in 0..<2_000 {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<2 {
                        group.addTask(executorPreference: loop) { try await database.client.withConnection { _ in } }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a connection that comes back while a caller is on its way to wait for the end ends it`() async throws {
        let loop = TaskLoop(name: "callers")
        defer { loop.stop() }
        try await TestDatabase.with { database in
            let configuration = Client.Configuration(connectionString: database.connectionString)
            for round in 0..<300 {
                let client = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
                let (lent, tell) = AsyncStream.makeStream(of: Void.self)
                await withTaskGroup { group in
                    group.addTask(executorPreference: loop) {
                        _ = try? await client.withConnection { connection in
                            tell.finish()
                            // The end comes a little earlier or later each time.
                            for _ in 0..<round % 10 { await Task.yield() }
                        }
                    }
                    group.addTask(executorPreference: loop) {
                        for await _ in lent {}
                        await client.close()
                    }
                }
            }
        }
    }

    @Test func `a notification reaches its readers, and a reconnected reader is told to look`() async throws {
        try await TestDatabase.with(configure: { $0.initialBackoff = .milliseconds(1) }) { database in
            var events = await database.client.notifications(on: "Jobs \"1\"").makeAsyncIterator()
            #expect(await events.next() == .listening)
            try await database.client.query("SELECT pg_notify(\("Jobs \"1\""), \("hello"))")
            #expect(await events.next() == .notified(payload: "hello"))
            let outside = try await database.connect()
            try await outside.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'
                """
            )
            #expect(await events.next() == .listening)
            try await outside.query("SELECT pg_notify(\("Jobs \"1\""), \("again"))")
            #expect(await events.next() == .notified(payload: "again"))
            await outside.close()
        }
    }
}
