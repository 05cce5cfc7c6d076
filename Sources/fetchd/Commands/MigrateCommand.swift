import ArgumentParser
import FetchStorage
import Postgres

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database's schema up to date.",
        discussion: """
            Each step is one transaction; several processes may do this at once. An edited step, or a schema that is \
            newer than this program, is refused and nothing is changed.
            """
    )

    @Flag(help: "Shows what has been applied and what has not; changes nothing.")
    var status = false

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            try await Database.with(settings, logger: .make(settings)) { database in
                guard status else {
                    let applied = try await database.migrate()
                    print(
                        applied.isEmpty
                            ? "The schema is up to date." : applied.map { "applied \($0)" }.joined(separator: "\n"))
                    return
                }
                for step in try await database.migrationStatus() { print(step) }
            }
        }
    }
}
