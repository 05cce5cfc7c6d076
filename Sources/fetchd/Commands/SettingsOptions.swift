import ArgumentParser
import FoundationEssentials
import Logging

/// The flags of every command that works with the service's data.
struct SettingsOptions: ParsableArguments {
    @Option(name: Setting.name(of: "database.url"), help: Setting.help(for: "database.url", "url"))
    var databaseURL: String?

    @Option(name: Setting.name(of: "data.directory"), help: Setting.help(for: "data.directory", "path"))
    var dataDirectory: String?

    @Option(
        name: Setting.name(of: "postgres.binaryDirectory"), help: Setting.help(for: "postgres.binaryDirectory", "path"))
    var postgresBinaryDirectory: String?

    @Option(name: Setting.name(of: "database.user"), help: Setting.help(for: "database.user", "user"))
    var databaseUser: String?

    @Option(name: Setting.name(of: "log.level"), help: Setting.help(for: "log.level", "level"))
    var logLevel: String?

    @Option(name: Setting.name(of: "log.format"), help: Setting.help(for: "log.format", "format"))
    var logFormat: String?

    /// The settings of these flags, of further ones, and of the environment.
    ///
    /// - Throws: A configuration error that names a variable that is no setting and looks like a misspelt one.
    func sources(_ more: [String: String] = [:]) throws -> SettingSources {
        var flags = more
        flags["database.url"] = databaseURL
        flags["data.directory"] = dataDirectory
        flags["postgres.binaryDirectory"] = postgresBinaryDirectory
        flags["database.user"] = databaseUser
        flags["log.level"] = logLevel
        flags["log.format"] = logFormat
        do { return try SettingSources(flags: flags, environment: ProcessInfo.processInfo.environment) } catch {
            throw ExitError(.configuration, error.description)
        }
    }

    /// The settings from these flags, further ones and the environment.
    ///
    /// - Throws: A configuration error that names the setting and its fault.
    func settings(_ more: [String: String] = [:]) throws -> Settings {
        let sources = try sources(more)
        do { return try Settings(sources) } catch { throw ExitError(.configuration, error.description) }
    }
}

/// The flags of commands that serve, or show how they would.
struct ServeOptions: ParsableArguments {
    @Option(name: Setting.name(of: "server.host"), help: Setting.help(for: "server.host", "address"))
    var host: String?

    @Option(name: Setting.name(of: "server.port"), help: Setting.help(for: "server.port", "port"))
    var port: String?

    @Option(name: Setting.name(of: "fetchd.node.url"), help: Setting.help(for: "fetchd.node.url", "url"))
    var nodeURL: String?

    @OptionGroup var options: SettingsOptions

    private var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["server.host"] = host
        flags["server.port"] = port
        flags["fetchd.node.url"] = nodeURL
        return flags
    }

    func sources() throws -> SettingSources { try options.sources(flags) }

    func settings() throws -> Settings { try options.settings(flags) }
}

/// Ends the program with a message and an exit code of sysexits.h.
struct ExitError: Error, CustomStringConvertible {
    enum Kind: Int32 {
        /// Something that the program needs is not there: the database, mostly.
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

    /// Runs a command, and prints its failure on standard error.
    static func reporting(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as ExitError { throw error.told() }
    }

    /// The same for a command that does not wait.
    static func reportingNow(_ body: () throws -> Void) throws {
        do { try body() } catch let error as ExitError { throw error.told() }
    }

    private func told() -> ExitCode {
        printError("fetchd: \(description)")
        return ExitCode(kind.rawValue)
    }
}

extension Logger {
    /// The logger of a command, on standard error.
    static func make(_ settings: Settings) -> Logger {
        ProgramLog.standardError(settings.logFormat).logger(settings.logLevel)
    }

    /// The same logger, which adds a field to each line.
    func with(_ key: String, _ value: String) -> Logger {
        var logger = self
        logger[metadataKey: key] = "\(value)"
        return logger
    }
}
