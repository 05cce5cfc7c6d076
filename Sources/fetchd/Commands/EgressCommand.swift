import ArgumentParser
import FetchEngine
import FetchJobs
import FetchStorage

struct EgressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "egress",
        abstract: "Shows and sets where jobs and webhooks may go.",
        discussion: """
            A document names targets by host, address, port and scheme: those that are denied and, where its mode is \
            allowListOnly, the only ones that are allowed. There is one for all tenants, and one for each tenant that \
            has its own, which can only narrow it. docs/egress.md has examples; fetchd guard tries them.
            """,
        subcommands: [Show.self, SetDocument.self, Remove.self]
    )

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints the document.")

        @Option(help: "That of a tenant; that for all tenants when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await ExitError.reporting {
                try await EgressFile.with(options, of: tenant) { store, owner in
                    let document = try await store.egress(of: owner)
                    guard tenant == nil || document.rules != nil else {
                        printError("The tenant has no egress document of its own.")
                        throw ExitCode.failure
                    }
                    print(String(decoding: JSONWriter.object { document.write(&$0) }, as: UTF8.self))
                }
            }
        }
    }

    struct SetDocument: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Replaces the document; running nodes go by it at once.")

        @Argument(help: "A file with the document as JSON; - for standard input.")
        var file: String

        @Option(help: "For a tenant; for all tenants when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await ExitError.reporting {
                let rules = try EgressFile.read(file)
                try await EgressFile.with(options, of: tenant) { store, owner in
                    _ = try await store.replaceEgress(of: owner, named: tenant, nil, with: rules)
                }
                print("\(rules.mode.rawValue)  \(rules.allow.count) allowed  \(rules.deny.count) denied")
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes the document of a tenant away: what holds for all tenants is left.")

        @Option(help: "The tenant.")
        var tenant: String

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await ExitError.reporting {
                try await EgressFile.with(options, of: tenant) { store, owner in
                    _ = try await store.replaceEgress(of: owner, named: tenant, nil, with: nil)
                }
            }
        }
    }
}

/// Where commands have egress documents from: files, and the database.
enum EgressFile {
    static func bytes(_ path: String) throws -> [UInt8] {
        do { return try FileContents.bytes(of: path) } catch {
            throw ExitError(.unavailable, "\(path) cannot be read: \(error)")
        }
    }

    static func read(_ path: String) throws -> TargetRules {
        let bytes = try bytes(path)
        do {
            guard bytes.count <= EgressDocument.maximumBytes else {
                throw ExitError(.configuration, "\(path): is longer than \(EgressDocument.maximumBytes) bytes")
            }
            return try EgressDocument.rules(json: try JSONParser.parse(bytes))
        } catch let failure as JSONParser.Failure {
            throw ExitError(.configuration, "\(path): at byte \(failure.offset): \(failure.message)")
        } catch let input as InvalidInput {
            let faults = input.violations.map { "\n  \($0.pointer.isEmpty ? "/" : $0.pointer) \($0.message)" }
            throw ExitError(.configuration, "\(path) is not an egress document:" + faults.joined())
        }
    }

    /// Runs a command over the stored documents.
    ///
    /// - Parameter tenant: The name of the owner; nil for all tenants.
    static func with(
        _ options: SettingsOptions, of tenant: String?,
        _ body: (PostgresEgressStore, Tenant.ID) async throws -> Void
    ) async throws {
        let settings = try options.settings()
        try await Database.with(settings, logger: .make(settings)) { database in
            if settings.migratesDatabase { _ = try await database.migrate() }
            var owner = Tenant.ID.service
            if let tenant {
                guard let share = try await PostgresTenantStore(client: database.client).tenant(named: tenant) else {
                    printError("There is no tenant \(tenant).")
                    throw ExitCode.failure
                }
                owner = share.tenant.id
            }
            try await body(PostgresEgressStore(client: database.client), owner)
        }
    }
}
