import ArgumentParser
import FetchJobs
import FetchStorage

struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Revokes JSON Web Tokens before they expire.",
        subcommands: [Revoke.self, List.self, Restore.self]
    )

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a token refused, or all that somebody has; running nodes do so within five seconds.",
            discussion: """
                A subject that signs in anew gets tokens that are taken, from a minute later on. docs/identity.md says \
                what else there is to end.
                """)

        @Option(help: ArgumentHelp("The token with this jti.", valueName: "jti"))
        var id: String?

        @Option(help: ArgumentHelp("All tokens with this sub that were issued by now.", valueName: "sub"))
        var subject: String?

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard (id == nil) != (subject == nil), let text = id ?? subject else {
                throw ValidationError("Give either --id or --subject.")
            }
            guard 1...TokenRevocation.Target.maximumLength ~= text.utf8.count else {
                throw ValidationError("It has 1 to \(TokenRevocation.Target.maximumLength) bytes.")
            }
        }

        func run() async throws {
            guard let target = id.map({ TokenRevocation.Target.token($0) }) ?? subject.map({ .subject($0) }) else {
                return
            }
            try await TokensCommand.withStore(options) { store in print(try await store.revoke(target).line) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists what is revoked, the oldest first.",
            discussion: "A line has the revocation, its time, and the jti or the sub.")

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await TokensCommand.withStore(options) { store in
                var last: TokenRevocation.ID?
                repeat {
                    let some = try await store.revocations(after: last, limit: 1000)
                    for revocation in some { print(revocation.line) }
                    last = some.last?.id
                } while last != nil
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes a revocation back: what has not expired is taken again.")

        @Argument(help: "The revocation (rev_…), as \"list\" shows it.")
        var id: String

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard TokenRevocation.ID(id) != nil else { throw ValidationError("\(id) is not a revocation (rev_…).") }
        }

        func run() async throws {
            guard let id = TokenRevocation.ID(id) else { return }
            try await TokensCommand.withStore(options) { store in
                guard try await store.restore(id) else {
                    printError("There is no such revocation.")
                    throw ExitCode.failure
                }
            }
        }
    }

    private static func withStore(
        _ options: SettingsOptions, _ body: (PostgresTokenRevocationStore) async throws -> Void
    ) async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            try await Database.with(settings, logger: .make(settings)) { database in
                if settings.migratesDatabase { _ = try await database.migrate() }
                try await body(PostgresTokenRevocationStore(client: database.client))
            }
        }
    }
}

extension TokenRevocation {
    fileprivate var line: String {
        "\(id)  \(revokedAt)  \(target.claim.name) \(LogText.escaped(target.claim.value, upTo: 256))"
    }
}
