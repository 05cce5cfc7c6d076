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
                While jobs of several tenants wait, each is given as many in its turn as its weight says. What one \
                does not need, the others get.

                What goes beyond a limit is refused (429), but for jobs that would run beyond theirs: those wait. \
                Nodes count what is stored every few seconds, so together they may let in a few more; docs/limits.md \
                says of each limit how exact it is.
                """
        )

        @Argument(help: "The tenant's name.")
        var name: String

        @Option(help: "From 1, which is what new tenants have, to 100.")
        var weight: Int64?

        @OptionGroup(title: "Limits") var limits: LimitOptions

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            let changes = try limits.changes
            guard weight != nil || !changes.isEmpty else {
                throw ValidationError("Give --weight or a limit.")
            }
            if let weight, !TenantShare.weights.contains(weight) {
                throw ValidationError("A weight is between 1 and 100.")
            }
        }

        func run() async throws {
            try await TenantsCommand.withStore(options) { store in
                let change = TenantChange(weight: weight, limits: try limits.changes)
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
            try await Database.with(settings, logger: .make(settings)) { database in
                if settings.migratesDatabase { _ = try await database.migrate() }
                try await body(PostgresTenantStore(client: database.client))
            }
        }
    }
}

/// The limits of a tenant, each a number or "default".
struct LimitOptions: ParsableArguments {
    @Option(help: Self.help(.maximumRequestsPerSecond, "Requests that each node answers in a second"))
    var maximumRequestsPerSecond: String?

    @Option(help: Self.help(.maximumWaitingJobs, "Jobs that may wait"))
    var maximumWaitingJobs: String?

    @Option(help: Self.help(.maximumRunningJobs, "Jobs that may run at once"))
    var maximumRunningJobs: String?

    @Option(help: Self.help(.maximumBytesPerSecond, "Bytes of bodies that jobs may move in a second, each way"))
    var maximumBytesPerSecond: String?

    @Option(help: Self.help(.maximumBytesPerDay, "Bytes that jobs may move in a day of UTC"))
    var maximumBytesPerDay: String?

    @Option(help: Self.help(.maximumStoredBytes, "Bytes of uploads, downloaded files and bodies of jobs"))
    var maximumStoredBytes: String?

    @Option(help: Self.help(.maximumSessions, "Sessions that have not ended"))
    var maximumSessions: String?

    @Option(help: Self.help(.maximumOpenQuestions, "Questions that may wait for an answer"))
    var maximumOpenQuestions: String?

    private static func help(_ limit: TenantLimit, _ summary: String) -> ArgumentHelp {
        let setting = Settings.table.first { $0.key == "tenants.\(limit.rawValue)" }
        let standard = setting.map { "for \($0.variable)" } ?? "for no limit"
        return ArgumentHelp(
            "\(summary), from \(limit.range.lowerBound); \"default\" \(standard).", valueName: "number")
    }

    /// What they change.
    var changes: [TenantLimit: TenantChange.Limit] {
        get throws {
            var changes: [TenantLimit: TenantChange.Limit] = [:]
            for limit in TenantLimit.allCases {
                guard let text = self[limit] else { continue }
                if text == "default" {
                    changes[limit] = .standard
                } else {
                    guard let number = Int64(text), limit.range.contains(number) else {
                        let range = "\(limit.range.lowerBound) to \(limit.range.upperBound)"
                        throw ValidationError("\(text) is not \"default\" or a number from \(range).")
                    }
                    changes[limit] = .own(number)
                }
            }
            return changes
        }
    }

    private subscript(limit: TenantLimit) -> String? {
        switch limit {
        case .maximumRequestsPerSecond: maximumRequestsPerSecond
        case .maximumWaitingJobs: maximumWaitingJobs
        case .maximumRunningJobs: maximumRunningJobs
        case .maximumBytesPerSecond: maximumBytesPerSecond
        case .maximumBytesPerDay: maximumBytesPerDay
        case .maximumStoredBytes: maximumStoredBytes
        case .maximumSessions: maximumSessions
        case .maximumOpenQuestions: maximumOpenQuestions
        }
    }
}

extension TenantShare {
    /// The tenant's name, and its limits.
    fileprivate var line: String {
        var parts = [tenant.name, "weight \(weight)"]
        for limit in TenantLimit.allCases {
            if let number = limits[limit] { parts.append("\(limit.rawValue) \(number)") }
        }
        if isPaused { parts.append("paused") }
        return parts.joined(separator: "  ")
    }
}
