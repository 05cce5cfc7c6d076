import ArgumentParser
import FetchJobs
import FetchStorage

/// Looks whether all is as it must be.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks whether what must hold of all jobs does; changes nothing.",
        discussion: """
            Prints what is broken, how often, and one example, and exits with 1 then: jobs that are lost or there twice, \
            that a dead node still has, or whose end nobody was told of, and groups and sessions that do not end. It \
            reads all jobs; the service may run meanwhile. Whether an end was told is known for as long as deliveries \
            are kept (WEBHOOKS_RETENTION_DAYS, which is to be that of the nodes).
            """
    )

    @Option(help: "How many seconds late may be what nodes do by themselves.")
    var patience = 60

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard (0...86_400).contains(patience) else { throw ValidationError("Patience is between 0 and 86400 seconds.") }
    }

    func run() async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            try await Database.with(settings, logger: .make(settings)) { database in
                guard try await database.pendingMigrations().isEmpty else {
                    throw ExitError(.unavailable, "the schema is not up to date; run fetchd migrate first")
                }
                let violations = try await PostgresInvariants(client: database.client)
                    .violations(patience: .seconds(patience), kept: settings.retention.deliveries)
                guard !violations.isEmpty else { return print("All is as it must be.") }
                for violation in violations {
                    print("Broken \(violation.count) times: \(violation.invariant); such as \(violation.example).")
                }
                throw ExitCode.failure
            }
        }
    }
}
