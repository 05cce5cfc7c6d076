import ArgumentParser
import PostgresCluster

/// The supervisor of the private database; only the service starts it.
struct SupervisePostgresCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "supervise-postgres", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []

    func run() throws {
        throw ExitCode(PrivateCluster.supervise(arguments))
    }
}
