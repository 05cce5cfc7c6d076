import ArgumentParser
import FetchJobs
import FetchStorage

struct TenantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tenants",
        abstract: "Lists the tenants and says how much of the service each may have.",
        discussion: "A tenant is made with its first key: fetchd keys create --tenant NAME.",
        subcommands: [List.self, SetShare.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the tenants.")

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await TenantsCommand.withStore(options) { store in
                for entry in try await store.tenants() {
                    var parts = [entry.tenant.name, "weight \(entry.weight)"]
                    if entry.isPaused { parts.append("paused") }
                    if let limit = entry.maximumBytesPerSecond { parts.append("\(limit) bytes per second") }
                    print((parts + ["made \(entry.createdAt)"]).joined(separator: "  "))
                }
            }
        }
    }

    struct SetShare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Changes a tenant's share; running nodes go by it at once.",
            discussion: """
                While jobs of several tenants wait, each is given as many in its turn as its weight says. What one does
                not need, the others get.
                """
        )

        @Argument(help: "The tenant's name.")
        var name: String

        @Option(help: "From 1, which is what new tenants have, to 100.")
        var weight: Int

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard PostgresTenantStore.weights.contains(weight) else {
                throw ValidationError("A weight is between 1 and 100.")
            }
        }

        func run() async throws {
            try await TenantsCommand.withStore(options) { store in
                guard try await store.setWeight(weight, ofTenant: name) else {
                    printError("There is no tenant \(name).")
                    throw ExitCode.failure
                }
                print("\(name)  weight \(weight)")
            }
        }
    }

    static func withStore(
        _ options: SettingsOptions,
        _ body: (PostgresTenantStore) async throws -> Void
    ) async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            try await Database.with(settings, logger: .make(settings.logLevel)) { database in
                _ = try await database.migrate()
                try await body(PostgresTenantStore(client: database.client))
            }
        }
    }
}
