import EventLoop
import Foundation
import Postgres
import TestSupport
import Testing

/// Connection strings with several servers, of which some are silent, refuse, or do not take writes.
@Suite(.timeLimit(.minutes(1))) struct HostListTests {
    private func open(_ string: String, patience: Duration = .seconds(10)) async throws -> Connection {
        var configuration = Connection.Configuration(connectionString: string)
        configuration.connectTimeout = patience
        return try await Connection.open(configuration, on: TestDatabase.loop)
    }

    private func failure(_ string: String, patience: Duration = .seconds(10)) async -> PostgresError? {
        do {
            try await open(string, patience: patience).close()
            return nil
        } catch {
            return error as? PostgresError
        }
    }

    /// Accepts connections and says nothing.
    private func silent() throws -> WireOrigin {
        try WireOrigin { connection in while try connection.receiveHead() != nil {} }
    }

    @Test func `a silent server is passed over at once, also one whose limit is far away`() async throws {
        let silent = try silent()
        try await TestDatabase.with { database in
            let directory = try #require(database.directory)
            let string = "host=127.0.0.1,\(directory) port=\(silent.port),5432 user=postgres dbname=\(database.name)"
            let start = ContinuousClock.now
            let connection = try await open(string + " connect_timeout=60")
            #expect(ContinuousClock.now - start < .seconds(5))
            try await connection.query("SELECT 1")
            await connection.close()
        }
    }

    @Test func `a server that refuses is passed over, and a name is looked up`() async throws {
        let port = try LoopbackServer.freePort()
        try await TestDatabase.with { database in
            let directory = try #require(database.directory)
            for host in ["127.0.0.1", "localhost", "nowhere.invalid"] {
                let string = "host=\(host),\(directory) port=\(port),5432 user=postgres dbname=\(database.name)"
                let connection = try await open(string)
                try await connection.query("SELECT 1")
                await connection.close()
            }
        }
    }

    // libpq takes one second for two.
    @Test func `the limit of the connection string counts, and ours where it has none`() async throws {
        let silent = try silent()
        let string = "host=127.0.0.1 port=\(silent.port) user=nobody"
        for (string, patience) in [(string + " connect_timeout=1", Duration.seconds(60)), (string, .seconds(2))] {
            let start = ContinuousClock.now
            let error = await failure(string, patience: patience)
            #expect(error?.code == .unavailable && error?.message.contains("within 2") == true, "\(error as Any)")
            let wait = ContinuousClock.now - start
            #expect(wait >= .seconds(2) && wait < .seconds(10))
        }
    }

    @Test func `a string that cannot be read is refused, and nothing of a password is told`() async throws {
        let strings = [
            "host=a canary", "postgres://u:p@h/x?canary=1", "password='canary", "host=a port=1,2 user=canary",
        ]
        for string in strings {
            let error = await failure(string, patience: .milliseconds(200))
            #expect(error?.code == .unavailable)
            #expect(error?.message.contains("canary") == false, "\(error as Any)")
        }
    }

    @Test func `of several servers the one that takes writes is chosen, unless the string says otherwise`()
        async throws
    {
        let pair = try await PostgresPair()
        let backwards = "host=127.0.0.1,127.0.0.1 port=\(pair.ports[1]),\(pair.ports[0]) user=postgres dbname=postgres"
        let sessions = [
            ("", false), (" target_session_attrs=any", true), (" target_session_attrs=prefer-standby", true),
            (" target_session_attrs=primary", false),
        ]
        for (session, isStandby) in sessions {
            let connection = try await open(backwards + session)
            let row = try await connection.query("SELECT pg_is_in_recovery()").first
            #expect(try row?.decode(Bool.self, at: 0) == isStandby, "\(session)")
            await connection.close()
        }
        // A server that was the primary, as far as the client knows, is left.
        var configuration = Client.Configuration(connectionString: backwards + " target_session_attrs=any")
        configuration.maximumConnections = 1
        let client = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
        let first = try await client.query("SELECT pg_backend_pid()").first?.decode(Int32.self, at: 0)
        await #expect {
            try await client.query("CREATE TABLE t ()")
        } throws: { ($0 as? PostgresError)?.isTransient == true }
        #expect(try await client.query("SELECT pg_backend_pid()").first?.decode(Int32.self, at: 0) != first)
        await client.close()
    }

    @Test(arguments: [true, false])
    func `a server that hangs is found by asking for another connection, one that is slow is not left`(
        hangs: Bool
    ) async throws {
        let pair = try await PostgresPair()
        var configuration = Client.Configuration(connectionString: pair.url().replacing("/fetchd", with: "/postgres"))
        configuration.connection.doubt = .milliseconds(300)
        configuration.connection.probePatience = .milliseconds(700)
        let client = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
        try await client.query("SELECT 1")
        if hangs {
            pair.send(SIGSTOP, to: 0)
            let start = ContinuousClock.now
            await #expect {
                try await client.query("SELECT 1")
            } throws: { ($0 as? PostgresError)?.code == .timedOut }
            #expect(ContinuousClock.now - start < .seconds(10))
            try await pair.promote()
            try await client.query("CREATE TABLE t ()")
        } else {
            try await client.query("SELECT pg_sleep(3)")
        }
        await client.close()
    }

    @Test func `a client that leaves waits for no server that hangs`() async throws {
        let silent = try silent()
        let configuration = Client.Configuration(connectionString: "host=127.0.0.1 port=\(silent.port) user=nobody")
        let client = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
        let start = ContinuousClock.now
        let waiting = Task { try await client.query("SELECT 1") }
        try await until { client.usage.opening == 1 }
        client.leave(within: .seconds(60))
        await #expect {
            try await waiting.value
        } throws: { ($0 as? PostgresError)?.code == .unavailable }
        await client.close()
        #expect(ContinuousClock.now - start < .seconds(4))
    }
}
