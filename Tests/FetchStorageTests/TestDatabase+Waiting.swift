import Postgres
import TestSupport

extension TestDatabase {
    /// Runs a statement while a transaction that has changed its rows is open, and is committed once it waits.
    ///
    /// So the change always comes between the rows that the statement sees and those that it locks.
    func during<R: Sendable>(
        _ changes: [Query], _ statement: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let connection = try await connect()
        try await connection.query("BEGIN")
        for change in changes { try await connection.query(change) }
        async let result = statement()
        do {
            try await untilStatementWaits()
            try await connection.query("COMMIT")
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
        return try await result
    }

    /// Waits until some statement waits for a lock.
    func untilStatementWaits() async throws {
        try await until {
            try await !client.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).isEmpty
        }
    }

    /// Gives a client whose statements stop where they first look at the time, which is after they have taken their
    /// snapshot, until they are told to go on.
    func withPausedClock<R: Sendable>(
        _ body: (_ client: Client, _ resume: () async throws -> Void) async throws -> R
    ) async throws -> R {
        for statement: Query in [
            "CREATE SCHEMA paused",
            """
            CREATE FUNCTION paused.now() RETURNS timestamptz LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(1);
                RETURN pg_catalog.now();
            END
            $$
            """,
        ] { try await client.query(statement) }
        let paused = Client(
            Client.Configuration(
                connectionString: connectionString + " options='-c search_path=paused,pg_catalog,public'"),
            loop: Self.loop, logger: Self.logger)
        paused.isSharded = client.isSharded
        let connection = try await connect()
        try await connection.query("SELECT pg_advisory_lock(1)")
        do {
            let result = try await body(paused) { try await connection.query("SELECT pg_advisory_unlock(1)") }
            await connection.close()
            await paused.close()
            return result
        } catch {
            await connection.close()
            await paused.close()
            throw error
        }
    }
}
