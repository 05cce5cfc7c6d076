import ArgumentParser
import Configuration
import Logging

/// The flags of every command that works with the service's data.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An external PostgreSQL, as postgres://… or key=value words (DATABASE_URL).",
            discussion: "Without it the service runs a PostgreSQL of its own.",
            valueName: "url"
        )
    )
    var databaseURL: String?

    @Option(help: ArgumentHelp("Where bodies and the private PostgreSQL live (DATA_DIRECTORY).", valueName: "path"))
    var dataDirectory: String?

    @Option(
        name: .customLong("pg-bindir"),
        help: ArgumentHelp("Where initdb and postgres are (POSTGRES_BINARY_DIRECTORY).", valueName: "path")
    )
    var postgresBinaryDirectory: String?

    @Option(
        name: .customLong("db-user"),
        help: ArgumentHelp(
            "Who runs the private PostgreSQL when root starts the service (DATABASE_USER).",
            valueName: "user"
        )
    )
    var databaseUser: String?

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical; info has a line for each job that succeeds "
                + "(LOG_LEVEL, notice).", valueName: "level"))
    var logLevel: String?

    /// The settings of these flags, further ones and the environment.
    ///
    /// - Throws: A usage error that says what is wrong with which.
    func settings(_ more: [AbsoluteConfigKey: ConfigValue] = [:]) throws -> Settings {
        var values = more
        values["database.url"] = databaseURL.map { ConfigValue(.string($0), isSecret: true) }
        values["data.directory"] = dataDirectory.map { ConfigValue(.string($0), isSecret: false) }
        values["postgres.binaryDirectory"] = postgresBinaryDirectory.map { ConfigValue(.string($0), isSecret: false) }
        values["database.user"] = databaseUser.map { ConfigValue(.string($0), isSecret: false) }
        values["log.level"] = logLevel.map { ConfigValue(.string($0), isSecret: false) }
        let flags = InMemoryProvider(name: "flags", values: values)
        let reader = ConfigReader(providers: [flags, EnvironmentVariablesProvider()])
        do { return try Settings(reader: reader) } catch { throw ExitError(.configuration, error.description) }
    }
}

/// Ends the program with a message and a code that says of what kind it is (sysexits.h).
struct ExitError: Error, CustomStringConvertible {
    enum Kind: Int32 {
        /// What the program needs is not there: the database, mostly.
        case unavailable = 69
        /// A setting is wrong.
        case configuration = 78
    }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Runs what a command does, and tells its failure on standard error.
    static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as ExitError {
            printError("fetchd: \(error.description)")
            throw ExitCode(error.kind.rawValue)
        }
    }
}

extension Logger {
    /// The program's logger, on standard error.
    static func make(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "fetchd") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }
}
