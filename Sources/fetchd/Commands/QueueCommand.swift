import ArgumentParser
import FetchStorage

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Pauses and resumes the jobs of all tenants, or of one.",
        discussion: """
            While it is paused, jobs are taken and kept, and none is started on any node; those that run go on. That
            holds until it is resumed, whatever is restarted meanwhile.
            """,
        subcommands: [Pause.self, Resume.self]
    )

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Starts no more jobs.")

        @Option(help: "The tenant whose jobs are meant; all when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws { try await QueueCommand.setPaused(true, tenant, options) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Starts jobs again.",
            discussion: "A tenant that is paused itself stays so until it is resumed by its name."
        )

        @Option(help: "The tenant whose jobs are meant; all when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws { try await QueueCommand.setPaused(false, tenant, options) }
    }

    private static func setPaused(_ isPaused: Bool, _ tenant: String?, _ options: SettingsOptions) async throws {
        try await TenantsCommand.withStore(options) { store in
            guard try await store.setPaused(isPaused, ofTenant: tenant) else {
                printError("There is no tenant \(tenant ?? "").")
                throw ExitCode.failure
            }
            print("\(tenant ?? "all tenants"): \(isPaused ? "paused" : "resumed")")
        }
    }
}
