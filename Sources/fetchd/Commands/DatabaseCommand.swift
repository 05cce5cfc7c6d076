import ArgumentParser
import EventLoop
import Glibc
import Logging
import Postgres
import PostgresCluster
import ServiceLifecycle
import UnixSignals

/// Commands about the database itself.
struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "db",
        abstract: "Looks after the database.",
        subcommands: [DatabaseServeCommand.self]
    )
}

/// Runs the private database alone, so that its data can be reached when the service does not start.
struct DatabaseServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the private database alone, until interrupted.",
        discussion: "Prints the connection string when the database answers."
    )

    @Option(help: "The directory of the private database.")
    var databaseDirectory: String

    @Option(help: "Where the socket goes when the directory's path is too long for one.")
    var runtimeDirectory = "/tmp"

    @Option(help: "The user to run PostgreSQL as; root only.")
    var dbUser: String?

    @Option(help: "The directory of initdb and postgres.")
    var pgBindir: String?

    func run() async throws {
        var configuration = PrivateCluster.Configuration(directory: databaseDirectory)
        configuration.runtimeDirectory = runtimeDirectory
        configuration.databaseUser = dbUser
        configuration.binaryDirectory = pgBindir
        let logger = ProgramLog.standardError(nil).logger(.info)
        let cluster = try await PrivateCluster(configuration, loop: EventLoop(name: "postgres"), logger: logger)
        let services: [any Service] = [cluster, Announcement(cluster: cluster)]
        try await ServiceGroup(named: services, stopsAtSignals: true, logger: logger).run()
    }

    /// Prints where the database is, each time this process starts it or finds it.
    private struct Announcement: Service {
        let cluster: PrivateCluster

        func run() async throws {
            try await cancelWhenGracefulShutdown {
                try await cluster.waitUntilReady()
                print(cluster.connectionString)
                fflush(nil)
            }
            try await gracefulShutdown()
        }
    }
}
