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
                for share in try await store.tenants(after: nil, limit: .max) {
                    print("\(share.line)  made \(share.createdAt)")
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

                A tenant that has as many jobs waiting as it may is refused more (429) until some have started. Nodes
                count them every few seconds, so together they may let in a few more.
                """
        )

        @Argument(help: "The tenant's name.")
        var name: String

        @Option(help: "From 1, which is what new tenants have, to 100.")
        var weight: Int64?

        @Option(
            help: ArgumentHelp(
                "How many of its jobs may wait; \"default\" for TENANTS_MAXIMUM_WAITING_JOBS.", valueName: "number"),
            transform: TenantChange.Limit.init(argument:))
        var maximumWaitingJobs: TenantChange.Limit?

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard weight != nil || maximumWaitingJobs != nil else {
                throw ValidationError("Give --weight or --maximum-waiting-jobs.")
            }
            if let weight, !TenantShare.weights.contains(weight) {
                throw ValidationError("A weight is between 1 and 100.")
            }
        }

        func run() async throws {
            try await TenantsCommand.withStore(options) { store in
                let change = TenantChange(weight: weight, maximumWaitingJobs: maximumWaitingJobs)
                guard let share = try await store.change(change, ofTenant: name) else {
                    printError("There is no tenant \(name).")
                    throw ExitCode.failure
                }
                print(share.line)
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
                if settings.migratesDatabase { _ = try await database.migrate() }
                try await body(PostgresTenantStore(client: database.client))
            }
        }
    }
}

extension TenantShare {
    /// The tenant's name, and its limits.
    fileprivate var line: String {
        var parts = [tenant.name, "weight \(weight)"]
        if let maximumWaitingJobs { parts.append("at most \(maximumWaitingJobs) jobs waiting") }
        if isPaused { parts.append("paused") }
        if let maximumBytesPerSecond { parts.append("\(maximumBytesPerSecond) bytes per second") }
        return parts.joined(separator: "  ")
    }
}

extension TenantChange.Limit {
    fileprivate init(argument: String) throws {
        if argument == "default" {
            self = .standard
        } else {
            guard let number = Int64(argument), TenantShare.quotas.contains(number) else {
                throw ValidationError("A quota is \"default\" or a number from 1 on.")
            }
            self = .own(number)
        }
    }
}
