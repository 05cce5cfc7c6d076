import ArgumentParser
import FetchJobs
import FetchStorage
import Postgres

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Makes, lists and revokes API keys, and changes the master key.",
        subcommands: [Create.self, Generate.self, List.self, Revoke.self, Rotate.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key and prints it, this once.",
            discussion: "Only the key itself goes to standard output."
        )

        @Option(help: "What to call it.")
        var name = "default"

        @Option(help: "The tenant it belongs to; made when there is none of this name.")
        var tenant = "default"

        @Flag(help: "Lets it change the shares of all tenants too (/v1/admin/tenants).")
        var admin = false

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await KeysCommand.withStore(options) { store in
                let (key, token) = try await store.create(name: name, tenant: tenant, isAdmin: admin)
                print(token.revealed)
                printError("\(key.id) of tenant \(tenant). Keep it: it cannot be shown again.")
            }
        }
    }

    struct Generate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a new key and stores it nowhere: for FETCHD_BOOTSTRAP_KEY.",
            discussion: "A node that finds no API key stores the one that FETCHD_BOOTSTRAP_KEY brings."
        )

        func run() async throws { print(APIKeyToken(id: APIKey.ID()).revealed) }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the keys, without their secrets.")

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await KeysCommand.withStore(options) { store in
                for (key, tenant) in try await store.keys() {
                    let end = key.revokedAt.map { "revoked \($0)" } ?? "valid"
                    let kind = key.isAdmin ? "  admin" : ""
                    print("\(key.id)  \(tenant.name)  \(key.name)\(kind)  made \(key.createdAt)  \(end)")
                }
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends a key; running nodes refuse it within five seconds."
        )

        @Argument(help: "The key's id (key_…).")
        var id: String

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            guard let id = APIKey.ID(id) else { throw ValidationError("\(id) is not the id of a key (key_…).") }
            try await KeysCommand.withStore(options) { store in
                guard try await store.revoke(id) else {
                    printError("There is no valid key \(id).")
                    throw ExitCode.failure
                }
                print("revoked \(id)")
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Wraps what an old master key wraps with the first one.",
            discussion: """
                To change the master key, put a new one in front of FETCHD_MASTER_KEYS on every node, as in 2:NEW,1:OLD, \
                restart them, and run this. It says how much each key still wraps; one that wraps nothing can be left out.
                """
        )

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await KeysCommand.withDatabase(options) { client, ring in
                let report = try await KeyRotation(client: client, ring: ring).run()
                print("wrapped again: \(report.rewrapped)")
                for (number, count) in report.uses.sorted(by: { $0.key < $1.key }) {
                    print("master key \(number) wraps: \(count)")
                }
            }
        }
    }

    private static func withStore(
        _ options: SettingsOptions,
        _ body: (PostgresKeyStore) async throws -> Void
    ) async throws {
        try await withDatabase(options) { client, ring in try await body(PostgresKeyStore(client: client, ring: ring)) }
    }

    private static func withDatabase(
        _ options: SettingsOptions,
        _ body: (Client, KeyRing) async throws -> Void
    ) async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            try await Database.with(settings, logger: .make(settings.logLevel)) { database in
                if settings.migratesDatabase { _ = try await database.migrate() }
                let ring = try MasterKeys.fire(settings)
                try await body(database.client, ring)
            }
        }
    }
}
