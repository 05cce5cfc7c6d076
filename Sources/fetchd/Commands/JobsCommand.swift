import ArgumentParser
import FetchEngine
import FetchJobs
import HTTPTypes

/// Jobs of a running service.
struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "Submits, lists, follows and ends jobs of a running service.",
        discussion: """
            These commands speak with the service by its API, on this machine or another: FETCHD_URL says where it is, \
            FETCHD_KEY or FETCHD_KEY_FILE who asks.

              fetchd jobs submit https://example.com/
              fetchd jobs ls --state failed --host example.com -o wide
              fetchd jobs watch job_…

            EXIT CODES:
            \(RemoteFailure.table)
            """,
        subcommands: [
            List.self, Show.self, Watch.self, Submit.self, Retry.self, Cancel.self, Suspend.self, Resume.self,
            Export.self,
        ]
    )

    static let columns = [
        Column("ID", "id"), Column("STATE", "state"), Column("STATUS", "status"), Column("ERROR", "error"),
        Column("METHOD", "method"), Column("URL", "url"), Column("CREATED", "createdAt"),
        Column("FINISHED", "finishedAt", isWide: true),
    ]

    /// Which jobs are meant.
    struct Filter: ParsableArguments {
        @Option(help: "Only jobs in this state.")
        var state: String?
        @Option(help: "Only jobs of this host.")
        var host: String?
        @Option(help: ArgumentHelp("Only jobs with this label.", valueName: "name:value"))
        var label: String?
        @Option(help: ArgumentHelp("Only jobs that ended with this error.", valueName: "name"))
        var error: String?
        @Option(help: ArgumentHelp("Only jobs with this status, or of this class.", valueName: "404|4xx"))
        var status: String?
        @Option(help: ArgumentHelp("Only jobs with this method.", valueName: "POST"))
        var method: String?
        @Option(help: ArgumentHelp("Only jobs of this URL.", valueName: "url"))
        var jobURL: String?
        @Option(help: ArgumentHelp("Only jobs whose URL begins so.", valueName: "url"))
        var prefix: String?
        @Option(help: ArgumentHelp("Only jobs whose body has so many bytes.", valueName: "1000..|..2000"))
        var bodyBytes: String?
        @Option(help: "Only jobs of this kind: data, download, upload.")
        var kind: String?
        @Option(help: "Only jobs of this session.")
        var session: String?
        @Option(help: "Only jobs of this group.")
        var group: String?
        @Option(help: "Only jobs of this schedule.")
        var schedule: String?
        @Option(help: ArgumentHelp("Only jobs created after this time.", valueName: "time"))
        var createdAfter: String?
        @Option(help: ArgumentHelp("Only jobs created before this time.", valueName: "time"))
        var createdBefore: String?

        var query: [(String, String?)] {
            [
                ("state", state), ("host", host), ("label", label), ("error", error), ("status", status),
                ("method", method), ("url", jobURL), ("prefix", prefix), ("bodyBytes", bodyBytes),
                ("kind", kind), ("session", session), ("group", group), ("schedule", schedule),
                ("createdAfter", createdAfter), ("createdBefore", createdBefore),
            ]
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ls", abstract: "Lists jobs, the newest first.", aliases: ["list"])

        @OptionGroup var filter: Filter
        @Option(help: "How many at most.")
        var limit = 20
        @OptionGroup var remote: RemoteOptions

        func validate() throws { try ResourceLists.check(limit) }

        func run() async throws {
            try await RemoteFailure.reporting {
                let jobs = try await remote.service().list("/v1/jobs", query: filter.query, limit: limit)
                remote.show(jobs, JobsCommand.columns, nothing: "There are no such jobs.")
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows all that is known of a job.")

        @Argument(help: "The job (job_…).")
        var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                remote.show(try await remote.service().ask(.get, RemoteService.path("v1", "jobs", id)))
            }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows a job until it ends.",
            discussion: "The exit code is 0 when the job succeeded, and 1 when it failed or was cancelled.")

        @Argument(help: "The job (job_…).")
        var id: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                let end = try await JobsCommand.follow(id, remote)
                guard end == "succeeded" else { throw ExitCode.failure }
            }
        }
    }

    struct Submit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Submits a job: a URL, or a job in JSON.",
            discussion: """
                  fetchd jobs submit https://example.com/
                  fetchd jobs submit --file job.json --wait 30
                  echo '{"request": "https://example.com/"}' | fetchd jobs submit --file -
                """)

        @Argument(help: "The URL to fetch, unless --file has the job; https where it has no scheme.")
        var target: String?
        @Option(help: ArgumentHelp("A file with the job in JSON; - is standard input.", valueName: "file"))
        var file: String?
        @Option(help: ArgumentHelp("How long to wait for its end, 60 at most.", valueName: "seconds"))
        var wait: Int?
        @Flag(help: "Follows the job until it ends, as \"jobs watch\" does.")
        var watch = false
        @OptionGroup var remote: RemoteOptions

        func validate() throws {
            guard (target == nil) != (file == nil) else {
                throw ValidationError("Give a URL, or --file, and not both.")
            }
            guard wait.map({ 0...60 ~= $0 }) ?? true else { throw ValidationError("--wait is from 0 to 60.") }
            guard wait == nil || !watch else { throw ValidationError("--wait and --watch exclude each other.") }
        }

        func run() async throws {
            try await RemoteFailure.reporting {
                let job = try await remote.service().ask(
                    .post, "/v1/jobs", body: try body(), prefer: wait.map { "wait=\($0)" })
                guard watch, let id = job.member("id")?.text else { return remote.show(job) }
                let end = try await JobsCommand.follow(id, remote)
                guard end == "succeeded" else { throw ExitCode.failure }
            }
        }

        private func body() throws -> [UInt8] {
            if let target {
                // What is no URL is told so by the service, like every other rule of jobs.
                let url = (try? GetTarget.url(target))?.description ?? target
                return JSONWriter.object { $0.member("request", target.contains("://") ? target : url) }
            }
            let path = file ?? "-"
            do { return try FileContents.bytes(of: path) } catch {
                throw ExitError(.unavailable, "\(path) cannot be read: \(error)")
            }
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Runs jobs again that have ended.")
        @OptionGroup var jobs: Chosen
        func run() async throws { try await jobs.act("retry") }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Ends jobs that have not ended.")
        @OptionGroup var jobs: Chosen
        func run() async throws { try await jobs.act("cancel") }
    }

    struct Suspend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Holds jobs until they are resumed.")
        @OptionGroup var jobs: Chosen
        func run() async throws { try await jobs.act("suspend") }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lets jobs go on that are held.")
        @OptionGroup var jobs: Chosen
        func run() async throws { try await jobs.act("resume") }
    }

    /// Jobs that something is done with, one after the other.
    struct Chosen: ParsableArguments {
        @Argument(help: "The jobs (job_…).")
        var ids: [String]
        @OptionGroup var remote: RemoteOptions

        /// A job for which it is not possible keeps it from no other.
        func act(_ action: String) async throws {
            try await RemoteFailure.reporting {
                let service = try remote.service()
                var failure: RemoteFailure?
                for id in ids {
                    do throws(RemoteFailure) {
                        let job = try await service.ask(.post, RemoteService.path("v1", "jobs", id, action))
                        if remote.output.isForPeople {
                            RemoteOptions.write("\(id): \(TerminalText.plain(job.member("state")?.text ?? "done"))")
                        } else {
                            RemoteOptions.write(job.json)
                        }
                    } catch {
                        printError("\(id):")
                        if failure == nil || ids.count == 1 {
                            failure = error
                        } else {
                            printError("fetchd: " + TerminalText.plain(error.description))
                        }
                    }
                }
                if let failure { throw failure }
            }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes all jobs of a choice as JSON, one a line, however many there are.")

        @OptionGroup var filter: Filter
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                try await remote.service().stream("/v1/jobs/export", query: filter.query) { bytes in
                    try await DescriptorWriter.standardOutput.write(bytes)
                }
            }
        }
    }

    /// Prints what happens to a job until it ends.
    ///
    /// - Returns: The state in which it ended; nil when the stream ended before.
    static func follow(_ id: String, _ remote: RemoteOptions) async throws -> String? {
        let service = try remote.service()
        var (lines, end) = (EventLines(), String?.none)
        try await service.stream(RemoteService.path("v1", "jobs", id, "events")) { bytes in
            for event in lines.take(bytes) {
                let data = try? JSONParser.parse(event.data.utf8)
                if event.name == "job.finished" { end = data?.member("state")?.text }
                tell(event, data ?? .null, remote)
            }
        }
        // A service that stops ends its streams; the job goes on without.
        guard let end else {
            throw RemoteFailure(.unavailable, "The service ended the events of \(id) before its end.")
        }
        return end
    }

    private static func tell(_ event: EventLines.Event, _ data: JSONValue, _ remote: RemoteOptions) {
        guard remote.output.isForPeople else {
            return RemoteOptions.write(
                JSONValue.object([JSONMember("event", .string(event.name)), JSONMember("data", data)]).json)
        }
        let parts: [String?]
        switch event.name {
        case "job.finished":
            parts = [
                data.member("state")?.text, data.at("response.status").map(\.plain), data.at("error.name")?.text,
                data.at("error.message")?.text,
            ]
        case "job.progress":
            parts = [
                data.member("bytesReceived")?.integer.map { ByteCount.text($0) + " received" },
                data.member("bytesExpectedToReceive")?.integer.map { "of \(ByteCount.text($0))" },
                data.member("bytesPerSecond")?.integer.map { "\(ByteCount.text($0))/s" },
            ]
        default: parts = [data == .null ? nil : data.json]
        }
        let text = parts.compactMap(\.self).joined(separator: " ")
        RemoteOptions.write(TerminalText.plain("\(Timestamp.now) \(event.name) \(text)"))
    }
}
