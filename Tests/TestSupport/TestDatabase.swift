package import EventLoop
import Foundation
package import Logging
package import Postgres

/// A database of its own for one test, on a private server that lives as long as the test process.
///
/// It is cloned from a template that had the migrations applied once.
package struct TestDatabase: Sendable {
    /// The loop that clients of tests may share.
    package static let loop = EventLoop(name: "test-postgres")

    /// A logger that says nothing.
    package static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    package let name: String
    package let connectionString: String
    package let client: Client
    package let genericPlan: Client

    /// Runs `body` with a fresh database, and drops it whatever happens.
    package static func with<R: Sendable>(
        _ migrations: [Migration] = [],
        configure: (inout Client.Configuration) -> Void = { _ in },
        _ body: (TestDatabase) async throws -> R
    ) async throws -> R {
        let cluster = TestCluster.shared
        let template = try await cluster.template(for: migrations)
        let name = "test_" + UUID().uuidString.lowercased()
        // To copy the files of a small database takes a third of the time of logging each of its pages.
        try await cluster.administrate(
            "CREATE DATABASE \(.identifier(name)) TEMPLATE \(.identifier(template)) STRATEGY file_copy")
        let database = TestDatabase(name: name, configure: configure)
        do {
            if hasCitus { try await database.distribute() }
            let value = try await body(database)
            try await database.drop()
            return value
        } catch {
            try await database.drop()
            throw error
        }
    }

    private init(name: String, configure: (inout Client.Configuration) -> Void) {
        self.name = name
        connectionString = TestCluster.shared.connectionString(database: name)
        var configuration = Client.Configuration(connectionString: connectionString)
        configure(&configuration)
        client = Client(configuration, loop: Self.loop, logger: Self.logger)
        configuration.connection.usesGenericPlan = true
        genericPlan = Client(configuration, loop: Self.loop, logger: Self.logger)
        if Self.isSharded { setSharded() }
    }

    /// Whether all tests run the forms of statements that tables on several servers take: by the setting
    /// `TEST_SHARDED`, which is `forms` for those alone, over one server, or `citus` for tables that are distributed.
    package static let isSharded = ProcessInfo.processInfo.environment["TEST_SHARDED"] != nil
    package static let hasCitus = ProcessInfo.processInfo.environment["TEST_SHARDED"] == "citus"

    /// The extension is not in the template, whose copies its background worker would hold up.
    private func distribute() async throws {
        let connection = try await connect()
        try await TestCluster.shared.join(name, on: connection)
        let isOurs = try await connection.query("SELECT WHERE to_regproc('distribute_tables') IS NOT NULL")
        if !isOurs.isEmpty { try await connection.query("SELECT distribute_tables()") }
        await connection.close()
    }

    /// Has the clients of this database use those forms.
    package func setSharded() {
        client.isSharded = true
        genericPlan.isSharded = true
    }

    /// Where the server keeps everything, its log of changes too.
    package var directory: String? { connectionString.firstMatch(of: /host=(\S+)/).map { String($0.output.1) } }

    private func drop() async throws {
        await genericPlan.close()
        await client.close()
        // `FORCE` ends sessions by itself, but looks for their end every 100 ms only.
        try await until {
            try await TestCluster.shared.administrate(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(name)"
            ).isEmpty
        }
        try await TestCluster.shared.administrate("DROP DATABASE \(.identifier(name)) WITH (FORCE)")
        if Self.hasCitus { try await TestCluster.shared.dropFromWorker(name) }
    }

    /// A further connection, outside the client's pool.
    ///
    /// The caller closes it.
    package func connect() async throws -> Connection {
        try await Connection.open(Connection.Configuration(connectionString: connectionString), on: Self.loop)
    }
}
