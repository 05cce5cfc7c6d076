import ArgumentParser
import FetchEngine
import FetchJobs
import FetchStorage
import HTTPTypes
import Postgres

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Makes, lists, rotates and revokes API keys, and changes the master key.",
        discussion: """
            The commands work on the database of the settings. With --url, --profile, --key or --key-file they ask a \
            running service instead, and have the rights of that key; variables such as FETCHD_URL alone do not \
            lead there.
            """,
        subcommands: [Create.self, Generate.self, List.self, Revoke.self, Rotate.self, Rewrap.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key and prints it, this once.",
            discussion: "Only the key itself goes to standard output."
        )

        @Option(help: "What to call it.")
        var name = "default"

        @Option(
            help: "The tenant it belongs to (default: default); made when there is none of this name. Not of a service."
        )
        var tenant: String?

        @Option(
            name: .customLong("scope"),
            help: ArgumentHelp(
                "What it may do: \(Scope.allCases.map(\.rawValue).joined(separator: ", ")). Can be given more than once. "
                    + "All but admin when neither this nor --role is given.",
                valueName: "scope"))
        var scopes: [Scope] = []

        @Option(
            help: "Scopes by one name: viewer reads, operator acts on jobs, questions and limits too, admin does all.")
        var role: Role?

        @Option(
            help: ArgumentHelp("The only session whose jobs it submits and sees (ses_… or default).", valueName: "id"),
            transform: KeysCommand.session)
        var session: TenantSession.ID?

        @Option(
            name: .customLong("host"),
            help: ArgumentHelp(
                "A host that its jobs load from, and no other: a name, \"*.\" and a name, or a block of addresses. "
                    + "Can be given more than once.",
                valueName: "pattern"), transform: KeysCommand.host)
        var hosts: [HostPattern] = []

        @Option(help: ArgumentHelp("How many jobs may be submitted with it in all.", valueName: "number"))
        var maximumJobs: Int64?

        @Option(
            help: ArgumentHelp("How long it is valid, such as 90d, 12h or 30m; forever by default.", valueName: "time"),
            transform: KeysCommand.duration)
        var expiresIn: Duration?

        @OptionGroup var options: SettingsOptions
        @OptionGroup var remote: RemoteOptions

        func validate() throws {
            try remote.requireNamed()
            guard tenant == nil || !remote.isNamed else {
                throw ValidationError("A service makes keys of the tenant of your own key: leave --tenant out.")
            }
            guard role == nil || scopes.isEmpty else { throw ValidationError("Give --role or --scope, not both.") }
            guard hosts.count <= APIKeySpec.maximumHosts else {
                throw ValidationError("A key is bound to \(APIKeySpec.maximumHosts) hosts at most.")
            }
            if let maximumJobs, !APIKeySpec.jobs.contains(maximumJobs) {
                throw ValidationError("A maximum of jobs is from 1 to \(APIKeySpec.jobs.upperBound).")
            }
        }

        func run() async throws {
            let spec = APIKeySpec(
                name: name, scopes: role?.scopes ?? (scopes.isEmpty ? .tenant : Set(scopes)), session: session,
                hosts: hosts.isEmpty ? nil : hosts, maximumJobs: maximumJobs,
                expiresAt: expiresIn.map { Timestamp.now.advanced(by: $0) })
            guard !remote.isNamed else { return try await remote.makeKey("", JSONWriter.object(spec.write)) }
            let tenant = tenant ?? "default"
            try await KeysCommand.withStore(options) { store in
                let (key, token) = try await store.create(spec, for: .tenant(named: tenant))
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
        static let configuration = CommandConfiguration(
            abstract: "Lists the keys, without their secrets.", aliases: ["ls"])

        @OptionGroup var options: SettingsOptions
        @OptionGroup var remote: RemoteOptions

        func validate() throws { try remote.requireNamed() }

        func run() async throws {
            guard !remote.isNamed else {
                return try await ResourceLists.run(
                    "/v1/keys", limit: .max,
                    [
                        Column("ID", "id"), Column("NAME", "name"),
                        Column("STATE") { $0.member("revokedAt") == nil ? "valid" : "revoked" },
                        Column("LAST USE", "lastUsedAt"), Column("EXPIRES", "expiresAt"),
                        Column("CREATED", "createdAt", isWide: true), Column("SCOPES", "scopes", isWide: true),
                        Column("SESSION", "session", isWide: true), Column("HOSTS", "hosts", isWide: true),
                    ], nothing: "There are no keys.", remote)
            }
            try await KeysCommand.withStore(options) { store in
                for (key, tenant) in try await store.keys(of: nil, after: nil, limit: .max) {
                    print("\(key.id)  \(tenant.name)  \(key.line)")
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
        @OptionGroup var remote: RemoteOptions

        func validate() throws { try remote.requireNamed() }

        func run() async throws {
            guard let id = APIKey.ID(id) else { throw ValidationError("\(id) is not the id of a key (key_…).") }
            guard !remote.isNamed else {
                try await ResourceLists.ask(.delete, "/v1/keys/\(id)", remote)
                return print("revoked \(id)")
            }
            try await KeysCommand.withStore(options) { store in
                guard try await store.revoke(id, of: nil) else {
                    printError("There is no valid key \(id).")
                    throw ExitCode.failure
                }
                print("revoked \(id)")
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key in place of another and prints it, this once.",
            discussion: """
                The new key has the name, scopes and bounds of the old one, which ends after the overlap. A key is \
                rotated once, and only when the key that it has replaced is over: so there are two at most.
                """
        )

        @Argument(help: "The key's id (key_…).")
        var id: String

        @Option(
            help: ArgumentHelp("How long the old key stays valid, such as 7d, 12h or 0m.", valueName: "time"),
            transform: KeysCommand.duration)
        var overlap = Duration.seconds(24 * 3600)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var remote: RemoteOptions

        func validate() throws { try remote.requireNamed() }

        func run() async throws {
            guard let id = APIKey.ID(id) else { throw ValidationError("\(id) is not the id of a key (key_…).") }
            guard !remote.isNamed else {
                let body = #"{"overlap": \#(overlap.components.seconds)}"#
                return try await remote.makeKey("/\(id)/rotate", Array(body.utf8))
            }
            try await KeysCommand.withStore(options) { store in
                guard let (key, token) = try await store.rotate(id, of: nil, overlap: overlap, by: nil) else {
                    printError("The key \(id) is not valid, or it is one of two already.")
                    throw ExitCode.failure
                }
                print(token.revealed)
                printError("\(key.id) in place of \(id). Keep it: it cannot be shown again.")
            }
        }
    }

    struct Rewrap: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Wraps what an old master key wraps with the first one.",
            discussion: """
                To change the master key, put a new one in front of FETCHD_MASTER_KEYS on every node, as in \
                2:NEW,1:OLD, restart them, and run this. It says how much each key still wraps; one that wraps nothing \
                can be left out.
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

    // MARK: Arguments

    private static func session(_ text: String) throws -> TenantSession.ID {
        guard let id = TenantSession.ID(naming: text) else {
            throw ValidationError("\(text) is not the id of a session (ses_…) and not \"default\".")
        }
        return id
    }

    private static func host(_ text: String) throws -> HostPattern {
        guard let pattern = HostPattern(text) else {
            throw ValidationError("\(text) is no host, no \"*.\" and a host, and no block of addresses.")
        }
        return pattern
    }

    /// A whole number of days, hours or minutes, up to ten years.
    static func duration(_ text: String) throws -> Duration {
        let seconds: [Character: Int64] = ["d": 86_400, "h": 3600, "m": 60]
        guard let unit = text.last.flatMap({ seconds[$0] }), let number = Int64(text.dropLast()), number >= 0,
            number <= 3650 * 86_400 / unit
        else { throw ValidationError("\(text) is no time such as 90d, 12h or 30m.") }
        return .seconds(number * unit)
    }

    // MARK: Stores

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
            try await Database.with(settings, logger: .make(settings)) { database in
                if settings.migratesDatabase { _ = try await database.migrate() }
                let ring = try MasterKeys.fire(settings)
                try await body(database.client, ring)
            }
        }
    }
}

extension RemoteOptions {
    /// Has the service make a key, and prints it.
    fileprivate func makeKey(_ path: String, _ body: [UInt8]) async throws {
        try await RemoteFailure.reporting {
            let service = try service()
            let made = try await service.ask(.post, "/v1/keys\(path)", body: body)
            guard output.isForPeople, let token = made.member("token")?.text else { return show(made) }
            print(token)
            printError("\(made.member("id")?.text ?? "") at \(service.base). Keep it: it cannot be shown again.")
        }
    }
}

extension Scope: ExpressibleByArgument {}

extension Role: ExpressibleByArgument {}

extension APIKey {
    /// The key without its secret, in a line.
    fileprivate var line: String {
        var parts = [spec.name, spec.scopes == .tenant ? "all of the tenant" : Self.text(spec.scopes)]
        if let session = spec.session { parts.append("session \(session.name)") }
        if let hosts = spec.hosts { parts.append("hosts \(hosts.map(\.description).joined(separator: ","))") }
        if let maximum = spec.maximumJobs { parts.append("\(submittedJobs) of \(maximum) jobs") }
        parts.append("made \(createdAt)")
        parts.append(lastUsedAt.map { "used \($0)" } ?? "never used")
        if let replacedBy { parts.append("replaced by \(replacedBy)") }
        if let revokedAt {
            parts.append("revoked \(revokedAt)")
        } else if let end = spec.expiresAt {
            parts.append("\(isValid(at: .now) ? "expires" : "expired") \(end)")
        } else {
            parts.append("valid")
        }
        return parts.joined(separator: "  ")
    }

    private static func text(_ scopes: Set<Scope>) -> String {
        scopes == .all ? "admin" : scopes.sorted.map(\.rawValue).joined(separator: ",")
    }
}
