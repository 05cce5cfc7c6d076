import EventLoop
import FetchJobs
import FetchRuntime
import FetchStorage
import Logging
import Postgres
import PostgresCluster
import ServiceLifecycle
import SystemPackage

/// The database of this process: the private cluster, when it is ours, and the connections to it.
struct Database: Sendable {
    /// Nil when the database is an external one.
    let cluster: PrivateCluster?
    let client: Client
    /// For the statements that run for every job; the same as the others where statements cannot be kept prepared.
    let genericPlan: Client
    /// Each once.
    var clients: [Client] { client === genericPlan ? [client] : [client, genericPlan] }
    let loop: EventLoop
    private let configuration: Client.Configuration

    /// - Parameter metrics: Where statements and connections are counted; nil for nowhere.
    init(_ settings: Settings, metrics: MetricsRegistry? = nil, logger: Logger) async throws {
        loop = EventLoop(name: "fetchd-db")
        let connectionString: String
        if let url = settings.databaseURL {
            let urls: [String: String?] = ["DATABASE_URL": url, "DATABASE_DIRECT_URL": settings.directDatabaseURL]
            for (name, text) in urls.compactMapValues(\.self) where GuessablePassword.isUsed(in: text) {
                throw ExitError(
                    .configuration,
                    """
                    \(name): the password of the database is one that anybody would try first; give its user another \
                    (ALTER USER … PASSWORD …), or reach it by a socket or a loopback address of this machine
                    """)
            }
            cluster = nil
            connectionString = url
        } else {
            let configuration = Self.privateCluster(settings)
            do {
                let cluster = try await PrivateCluster(configuration, loop: loop, logger: logger)
                connectionString = cluster.serviceConnectionString
                self.cluster = cluster
            } catch {
                throw ExitError(.unavailable, "\(error)")
            }
        }
        var configuration = Client.Configuration(connectionString: connectionString)
        configuration.connection.preparesStatements = settings.preparesStatements
        configuration.maximumConnections = settings.databaseConnections
        configuration.directConnectionString = settings.directDatabaseURL
        if let metrics {
            let (all, statements) = (
                metrics.histogram(.databaseDuration)[], metrics.summary(.databaseStatementDuration)
            )
            configuration.connection.onStatement = { name, duration in
                all.observe(duration)
                statements[name].observe(duration)
            }
        }
        if let failures = metrics?.counter(.databaseFailures) {
            configuration.connection.onFailure = { failures[$0.code.rawValue].add() }
        }
        self.configuration = configuration
        client = Client(configuration, loop: loop, logger: logger)
        if configuration.connection.preparesStatements {
            configuration.connection.usesGenericPlan = true
            genericPlan = Client(configuration, loop: loop, logger: logger)
        } else {
            genericPlan = client
        }
        if let metrics { report(to: metrics) }
    }

    private static func privateCluster(_ settings: Settings) -> PrivateCluster.Configuration {
        var configuration = PrivateCluster.Configuration(directory: "\(settings.dataDirectory)/postgres")
        configuration.databaseUser = settings.databaseUser
        configuration.binaryDirectory = settings.postgresBinaryDirectory
        return configuration
    }

    /// Whether there is one: a private cluster is made by the first start.
    ///
    /// - Throws: An error that says why none can be made.
    static func exists(_ settings: Settings) async throws -> Bool {
        let configuration = privateCluster(settings)
        guard settings.databaseURL == nil, !PrivateCluster.exists(configuration) else { return true }
        do { try await PrivateCluster.examine(configuration) } catch { throw ExitError(.unavailable, "\(error)") }
        return false
    }

    private func report(to metrics: MetricsRegistry) {
        // The statements that run for every job have connections of their own.
        let pools = zip(["general", "jobs"], clients.map { $0.usage }).map { $0 }
        metrics.observeAll(.databaseConnections) {
            pools.flatMap { name, usage in
                [("idle", usage.idle), ("inUse", usage.lent), ("opening", usage.opening)].map { state, count in
                    MetricsRegistry.Observation(labels: [name, state], value: Double(count))
                }
            }
        }
        metrics.observeAll(.databaseWaiting) {
            pools.map { MetricsRegistry.Observation(labels: [$0.0], value: Double($0.1.waiting)) }
        }
    }

    /// Returns when the database answers.
    ///
    /// - Throws: An error that says why it does not.
    func waitUntilReady() async throws {
        do {
            try await cluster?.waitUntilReady()
            let isSharded = try await Schema.isSharded(in: client)
            for client in clients { client.isSharded = isSharded }
        } catch {
            throw ExitError(.unavailable, "the database cannot be reached: \(error)")
        }
    }

    /// Sees to it that the program ends in this time, whatever the database does: what was accepted is stored, and other
    /// nodes go on with it.
    func leave(within time: Duration) { for client in clients { client.leave(within: time) } }

    /// Applies missing migrations, and returns their names.
    func migrate() async throws -> [String] {
        do {
            return try await withOwner { try await Schema.steps.apply(on: $0) }
        } catch {
            throw ExitError(.unavailable, "the schema cannot be brought up to date: \(error)")
        }
    }

    /// Sees that this program can run over the schema as somebody else has left it.
    func examineSchema() async throws {
        do {
            try await client.withConnection { try await Schema.steps.examine(on: $0) }
        } catch {
            throw ExitError(.unavailable, "the schema does not fit this program: \(error)")
        }
    }

    /// The names of the steps that the schema lacks.
    func pendingMigrations() async throws -> [String] {
        try await client.withConnection { connection in
            try await Schema.steps.status(on: connection).filter { $0.appliedAt == nil }.map(\.name)
        }
    }

    func migrationStatus() async throws -> [String] {
        try await withOwner { connection in
            try await Schema.steps.status(on: connection).map { "\($0)" }
        }
    }

    /// A connection as the owner of the schema, which in the private cluster is another role than that of the service.
    private func withOwner<Value: Sendable>(
        _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        let owner = cluster.map { Connection.Configuration(connectionString: $0.ownerConnectionString) }
        guard let direct = owner ?? configuration.direct else { return try await client.withConnection(body) }
        let connection = try await Connection.open(direct, on: loop)
        let result = await Result { try await body(connection) }
        await connection.close()
        return try result.get()
    }

    /// Runs a command's work on the database, and closes it then.
    static func with(_ settings: Settings, logger: Logger, _ body: (Database) async throws -> Void) async throws {
        let database = try await Database(settings, logger: logger)
        guard let cluster = database.cluster else { return try await database.run(body) }
        let services = ServiceGroup(named: [cluster], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            let result = await Result { try await database.run(body) }
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
            try result.get()
        }
    }

    private func run(_ body: (Database) async throws -> Void) async throws {
        try await waitUntilReady()
        let result = await Result { try await AuditActor.$current.withValue(.cli) { try await body(self) } }
        for client in clients { await client.close() }
        try result.get()
    }
}

extension Result where Failure == any Error, Success: ~Copyable {
    /// Takes the result of an asynchronous body.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Prints a line on standard error.
func printError(_ line: String) { _ = try? FileDescriptor.standardError.writeAll((line + "\n").utf8) }
