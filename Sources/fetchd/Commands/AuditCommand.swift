import ArgumentParser
import FetchJobs
import FetchStorage
import Logging

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Checks the audit log.",
        subcommands: [Verify.self]
    )

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Checks that no entry was changed, taken out or put in between.",
            discussion: """
                Prints a line for each chain, of which every tenant has one and the service another, and ends with 1 when \
                one is broken. The hash of the head is worth noting elsewhere: who can write everything in the database \
                can write a chain anew, but not with the same hash.
                """
        )

        @Option(help: "The tenant whose chain is meant; all when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await ExitError.reporting {
                let settings = try options.settings()
                let logger = Logger.make(settings.logLevel)
                try await Database.with(settings, logger: logger) { database in
                    let file = settings.auditFile.map { AuditFile(path: $0, logger: logger) }
                    let log = PostgresAuditLog(client: database.client, logger: logger) { file?.append($0) }
                    let reports = try await log.verify(try await chain(database))
                    for report in reports { print(report.line) }
                    guard reports.allSatisfy({ $0.fault == nil }) else { throw ExitCode.failure }
                }
            }
        }

        private func chain(_ database: Database) async throws -> Tenant.ID? {
            guard let tenant else { return nil }
            guard let share = try await PostgresTenantStore(client: database.client).tenant(named: tenant) else {
                printError("There is no tenant \(tenant).")
                throw ExitCode.failure
            }
            return share.tenant.id
        }
    }
}

extension AuditChainReport {
    fileprivate var line: String {
        let name = chain == .service ? "the service" : tenant ?? "tenant \(chain), which is gone"
        guard let fault else {
            return
                "\(name): entries \(anchor.sequence + 1) to \(head.sequence) are intact, head \(head.hexadecimalHash)"
        }
        return "\(name): entry \(fault.sequence) is \(fault.fault.rawValue)"
    }
}
