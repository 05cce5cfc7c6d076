import ArgumentParser
import FetchJobs
import FetchStorage

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Signs in to the dashboard from the terminal, and says who is signed in.",
        subcommands: [Link.self, List.self, End.self]
    )

    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a link that signs in to the dashboard once.",
            discussion: """
                The first browser that opens the link is signed in, for 8 hours at most; after that, and after its \
                minutes, it opens nothing. What proves it stands behind the #, which browsers send to no server: so it \
                is in no log of a server or proxy. It is no API key. Only the link itself goes to standard output.
                """
        )

        @Option(help: "What it lets do: viewer reads, operator acts on jobs, questions and limits too, admin does all.")
        var role = Role.operator

        @Option(help: ArgumentHelp("How long it waits for its use, from 1 to 1440.", valueName: "number"))
        var minutes = 10

        @Option(help: "The tenant that it shows; made when there is none of this name.")
        var tenant = "default"

        @Option(
            help: ArgumentHelp(
                "Where the dashboard is reached, such as https://fetchd.example; DASHBOARD_URL, or where the service "
                    + "listens, by default."))
        var url: String?

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard 1...1440 ~= minutes else { throw ValidationError("A link waits from 1 to 1440 minutes.") }
            guard !tenant.isEmpty else { throw ValidationError("The name of a tenant is not empty.") }
            if let url, SettingRule<String>.origin.parse(url) == nil {
                throw ValidationError("\(url) is not \(SettingRule<String>.origin.description).")
            }
        }

        func run() async throws {
            try await ExitError.reporting {
                let settings = try options.settings()
                guard let origin = url ?? settings.dashboardOrigin else {
                    throw ExitError(
                        .configuration, "SERVER_PORT is 0: say by --url or DASHBOARD_URL where the dashboard is reached"
                    )
                }
                try await DashboardCommand.withStore(settings) { store in
                    let link = try await store.makeLink(
                        as: role, forTenant: tenant, lifetime: .seconds(60 * Int64(minutes)))
                    print("\(origin)/dashboard/link#\(link.revealed)")
                    printError("It signs in once as \(role.rawValue) of tenant \(tenant), within \(minutes) minutes.")
                }
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign-ins", abstract: "Lists who is signed in to the dashboard, the oldest first.",
            discussion: "A line has the sign-in, its tenant, its role, the key that it began with, or \"link\", or the "
                + "provider and whom that has signed in, and its latest end.")

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await ExitError.reporting {
                try await DashboardCommand.withStore(try options.settings()) { store in
                    for (signIn, tenant) in try await store.all() {
                        let origin = signIn.key?.description ?? signIn.subject ?? "link"
                        print("\(signIn.id)  \(tenant)  \(signIn.role.rawValue)  \(origin)  until \(signIn.expiresAt)")
                    }
                }
            }
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Signs somebody out; running nodes do so within five seconds.")

        @Argument(help: "The sign-in (sgn_…), as \"sign-ins\" lists it.")
        var id: String?

        @Flag(help: "Signs everybody out.")
        var all = false

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard (id == nil) == all else { throw ValidationError("Give a sign-in (sgn_…) or --all.") }
            if let id, SignIn.ID(id) == nil { throw ValidationError("\(id) is not a sign-in (sgn_…).") }
        }

        func run() async throws {
            try await ExitError.reporting {
                try await DashboardCommand.withStore(try options.settings()) { store in
                    let chosen = try await store.all().map(\.signIn.id).filter { all || $0.description == id }
                    for id in chosen { try await store.end(id) }
                    guard all || !chosen.isEmpty else {
                        printError("There is no such sign-in.")
                        throw ExitCode.failure
                    }
                    print("ended \(chosen.count)")
                }
            }
        }
    }

    private static func withStore(
        _ settings: Settings, _ body: (PostgresSignInStore) async throws -> Void
    ) async throws {
        try await Database.with(settings, logger: .make(settings)) { database in
            if settings.migratesDatabase { _ = try await database.migrate() }
            try await body(PostgresSignInStore(client: database.client, ring: try MasterKeys.fire(settings)))
        }
    }
}
