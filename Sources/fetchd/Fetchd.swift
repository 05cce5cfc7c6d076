import ArgumentParser
import EventLoop
import FetchEngine

@main
struct Fetchd: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "fetchd",
        abstract: "Fetches URLs for other services, durably.",
        discussion: """
            fetchd serve runs the service: a REST API that takes jobs, workers that run them, and webhooks that tell \
            of them. Without DATABASE_URL it keeps a PostgreSQL of its own in its data directory.

            fetchd get fetches URLs without any of that.

            The remote commands speak with a running service by its API, on this machine or another: FETCHD_URL says \
            where it is, FETCHD_KEY or FETCHD_KEY_FILE who asks.

            Every setting has a flag or an environment variable; fetchd serve --help lists them.
            """,
        version: version,
        subcommands: [
            ServeCommand.self, GetCommand.self, MigrateCommand.self, KeysCommand.self, TenantsCommand.self,
            QueueCommand.self, EgressCommand.self, GuardCommand.self, AuditCommand.self, DatabaseCommand.self,
            ConfigCommand.self, DoctorCommand.self, WebhooksCommand.self, DashboardCommand.self,
            TokensCommand.self,
            CompletionsCommand.self, ManCommand.self, SupervisePostgresCommand.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "Remote",
                subcommands: [
                    JobsCommand.self, ImportCommand.self, TopCommand.self, HostsCommand.self, FlowsCommand.self,
                    SessionsCommand.self,
                    SchedulesCommand.self, QuestionsCommand.self, CacheCommand.self,
                ])
        ]
    )

    /// Wrong usage of `get` exits with 2, as with other tools that fetch; the other commands keep to `sysexits.h`.
    static func main() async {
        FreedPages.keep()
        TLSLibrary.keepUntilEnd()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch  where exitCode(for: error) == .validationFailure && isGet {
            let message = fullMessage(for: error)
            printError(message)
            let advice = GetAdvice.text(Array(CommandLine.arguments.dropFirst(2)), message)
            if let advice { printError("  In place of \(advice)") }
            exit(withError: ExitCode(GetExitCode.usage.rawValue))
        } catch {
            if let word = unknownCommand(Array(CommandLine.arguments.dropFirst())) {
                printError("Error: There is no command \"\(TerminalText.plain(word))\". fetchd --help lists them.")
                exit(withError: ExitCode.validationFailure)
            }
            exit(withError: error)
        }
    }

    /// The first word, where it is a command's place and no command's name.
    static func unknownCommand(_ arguments: [String]) -> String? {
        guard let word = arguments.first, !word.hasPrefix("-"), word != "help" else { return nil }
        let all = configuration.subcommands + configuration.groupedSubcommands.flatMap(\.subcommands)
        return all.contains { $0._commandName == word || $0.configuration.aliases.contains(word) } ? nil : word
    }

    private static var isGet: Bool { CommandLine.arguments.dropFirst().first == GetCommand.configuration.commandName }
}
