import ArgumentParser
import FetchEngine
import FetchJobs
import FetchStorage

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Pauses, resumes and slows down the jobs of all tenants, or of one.",
        discussion: """
            While it is paused, jobs are taken and kept, and none is started on any node; those that run go on. That \
            holds until it is resumed, whatever is restarted meanwhile.
            """,
        subcommands: [Pause.self, Resume.self, Limit.self]
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

    struct Limit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Bounds how fast bodies are received, and sent; running jobs go by it at once.",
            discussion: """
                It holds for all nodes together, of which each has the same part. What is set for a tenant holds \
                beside what is set for all.
                """
        )

        @Argument(help: "How many bytes a second, at least \(Bandwidth.settable.lowerBound); none for any number.")
        var bytesPerSecond: ByteRate

        @Option(help: "The tenant whose jobs are meant; all together when left out.")
        var tenant: String?

        @OptionGroup var options: SettingsOptions

        func run() async throws {
            try await TenantsCommand.withStore(options) { store in
                guard try await store.setBandwidth(bytesPerSecond.value, ofTenant: tenant) else {
                    printError("There is no tenant \(tenant ?? "").")
                    throw ExitCode.failure
                }
                let limit = bytesPerSecond.value.map { "\($0)" } ?? "any number of"
                print("\(tenant ?? "all tenants"): \(limit) bytes per second")
            }
        }
    }

    /// A number of bytes a second, or `none`.
    struct ByteRate: ExpressibleByArgument {
        let value: Int64?

        init?(argument: String) {
            let number = Int64(argument)
            guard argument == "none" || number.map(Bandwidth.settable.contains) ?? false else { return nil }
            value = number
        }
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
