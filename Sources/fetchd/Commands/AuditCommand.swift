import ArgumentParser
import FetchJobs
import FetchStorage
import Glibc
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
                Prints a line for each chain, of which every tenant has one and the service another, and ends with 1 \
                when one is broken. The hash of the head is worth noting elsewhere: who can write everything in the \
                database can write a chain anew, but not with the same hash.

                With --file, entries are read from files rather than from the database: of the first of each chain \
                nothing can be said, each that follows has to follow in the chain, and those that are there twice have \
                to be the same.
                """
        )

        @Option(help: "The tenant whose chain is meant; all when left out.")
        var tenant: String?

        @Option(
            name: .customLong("file"),
            help:
                "A file of AUDIT_FILE, or an operator's export, to check instead of the database; several in their order."
        )
        var files: [String] = []

        @OptionGroup var options: SettingsOptions

        func validate() throws {
            guard tenant == nil || files.isEmpty else {
                throw ValidationError("--tenant is for the database: a file is checked as a whole")
            }
        }

        func run() async throws {
            try await ExitError.reporting {
                let reports = try await files.isEmpty ? reportsOfDatabase() : reportsOfFiles()
                for report in reports { print(report.line) }
                guard reports.allSatisfy({ $0.fault == nil }) else { throw ExitCode.failure }
            }
        }

        private func reportsOfDatabase() async throws -> [AuditChainReport] {
            let settings = try options.settings()
            let logger = Logger.make(settings)
            var reports: [AuditChainReport] = []
            try await Database.with(settings, logger: logger) { database in
                let log = PostgresAuditLog(client: database.client, logger: logger)
                reports = try await log.verify(try await chain(database))
            }
            return reports
        }

        private func reportsOfFiles() throws -> [AuditChainReport] {
            var lines = AuditLines()
            for path in files {
                guard let file = fopen(path, "re") else {
                    throw ExitError(.unavailable, "\(path): \(String(cString: strerror(errno)))")
                }
                defer { fclose(file) }
                var (buffer, size) = (UnsafeMutablePointer<CChar>?.none, 0)
                defer { free(buffer) }
                while case let count = getline(&buffer, &size, file), count > 0, let buffer {
                    let line = UnsafeRawBufferPointer(start: buffer, count: count)
                    lines.read(line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...])
                }
            }
            if lines.brokenLines > 0 { printError("\(lines.brokenLines) lines are no entries, and were left out.") }
            return lines.reports
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
