import ArgumentParser
import PostgresCluster

/// The supervisor of the private database; the service starts it, nobody else needs to.
struct SupervisePostgresCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "supervise-postgres", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []

    func run() throws {
        throw ExitCode(PrivateCluster.supervise(arguments))
    }
}
