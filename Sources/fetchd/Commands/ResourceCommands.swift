import ArgumentParser
import FetchEngine
import FetchJobs
import HTTPTypes

// Commands about the other resources of a running service.

/// What the lists of resources have in common.
enum ResourceLists {
    static func check(_ limit: Int) throws {
        guard 1...100_000 ~= limit else { throw ValidationError("--limit is from 1 to 100000.") }
    }

    /// Prints a list.
    static func run(
        _ path: String, query: [(String, String?)] = [], limit: Int, _ columns: [Column], nothing: String,
        _ remote: RemoteOptions
    ) async throws {
        try await RemoteFailure.reporting {
            remote.show(
                try await remote.service().list(path, query: query, limit: limit), columns, nothing: nothing)
        }
    }

    /// Asks for one thing, and prints the answer.
    static func ask(
        _ method: HTTPRequest.Method, _ path: String, query: [(String, String?)] = [], body: [UInt8]? = nil,
        _ remote: RemoteOptions
    ) async throws {
        try await RemoteFailure.reporting {
            let answer = try await remote.service().ask(method, path, query: query, body: body)
            if answer != .null { remote.show(answer) }
        }
    }
}

/// The flags of lists.
struct ListOptions: ParsableArguments {
    @Option(help: "How many at most.")
    var limit = 50
    @OptionGroup var remote: RemoteOptions

    func validate() throws { try ResourceLists.check(limit) }
}

/// One resource, by its id or name.
struct NamedResource: ParsableArguments {
    @Argument(help: "Its id or name, as the list has it.")
    var id: String
    @OptionGroup var remote: RemoteOptions

    /// Asks for it, or for something to be done with it.
    func ask(_ method: HTTPRequest.Method, _ kind: String, _ action: String? = nil) async throws {
        let path = "/v1/\(kind)" + RemoteService.path(id) + (action.map { "/\($0)" } ?? "")
        try await ResourceLists.ask(method, path, remote)
    }
}

// MARK: What commands about several kinds do alike

/// A kind of resources of which each has commands.
protocol ResourceKind {
    /// The list's last part of the path, such as `hosts`.
    static var collection: String { get }
    /// One of them, such as `a host`.
    static var one: String { get }
    /// What goes on with its jobs, such as `Starts`.
    static var verb: String { get }
}

extension ResourceKind {
    static var verb: String { "Starts" }
}

struct ShowResource<Kind: ResourceKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: "Shows \(Kind.one).")
    }
    @OptionGroup var resource: NamedResource
    func run() async throws { try await resource.ask(.get, Kind.collection) }
}

struct PauseResource<Kind: ResourceKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "pause", abstract: "\(Kind.verb) no more jobs of \(Kind.one).")
    }
    @OptionGroup var resource: NamedResource
    func run() async throws { try await resource.ask(.post, Kind.collection, "pause") }
}

struct ResumeResource<Kind: ResourceKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "resume", abstract: "\(Kind.verb) jobs of \(Kind.one) again.")
    }
    @OptionGroup var resource: NamedResource
    func run() async throws { try await resource.ask(.post, Kind.collection, "resume") }
}

struct DrainResource<Kind: ResourceKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "drain", abstract: "Pauses \(Kind.one), and tells how many of its jobs still run.")
    }
    @OptionGroup var resource: NamedResource
    func run() async throws { try await resource.ask(.post, Kind.collection, "drain") }
}

// MARK: The kinds

struct HostsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts",
        abstract: "Shows, pauses and drains hosts of a running service.",
        discussion: "Hosts are listed that have limits, are paused, or have asked to be left alone.",
        subcommands: [
            List.self, ShowResource<Kind>.self, PauseResource<Kind>.self, ResumeResource<Kind>.self,
            DrainResource<Kind>.self,
        ], defaultSubcommand: List.self)

    enum Kind: ResourceKind {
        static let collection = "hosts"
        static let one = "a host"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "ls", abstract: "Lists hosts.")
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/hosts", limit: list.limit,
                [
                    Column("HOST", "host"), Column("RUNNING", "running"), Column("WAITING", "waiting"),
                    Column("PARALLELISM", "parallelism"), Column("RATE", "rate"), Column("PAUSED", "paused"),
                    Column("CIRCUIT", "circuit"), Column("UNTIL", "circuitOpenUntil", isWide: true),
                    Column("REASON", "circuitReason", isWide: true),
                ], nothing: "No host has limits, is paused or is left alone.", list.remote)
        }
    }
}

struct FlowsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flows",
        abstract: "Shows, pauses, drains and unblocks flows of a running service.",
        subcommands: [
            List.self, ShowResource<Kind>.self, PauseResource<Kind>.self, ResumeResource<Kind>.self,
            DrainResource<Kind>.self, Skip.self,
        ], defaultSubcommand: List.self)

    enum Kind: ResourceKind {
        static let collection = "flows"
        static let one = "a flow"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "ls", abstract: "Lists flows.")
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/flows", limit: list.limit,
                [
                    Column("FLOW", "key"), Column("RUNNING", "running"), Column("WAITING", "waiting"),
                    Column("PARALLELISM", "parallelism"), Column("RATE", "rate"), Column("ORDER", "order"),
                    Column("PAUSED", "paused"), Column("BLOCKED BY", "blockedBy"),
                ], nothing: "No flow has limits or is paused.", list.remote)
        }
    }

    struct Skip: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets a flow go on past the failed job that blocks it.")
        @OptionGroup var flow: NamedResource
        func run() async throws { try await flow.ask(.post, Kind.collection, "skip") }
    }
}

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Shows sessions of a running service.",
        subcommands: [List.self, ShowResource<Kind>.self], defaultSubcommand: List.self)

    enum Kind: ResourceKind {
        static let collection = "sessions"
        static let one = "a session"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "ls", abstract: "Lists sessions.")
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/sessions", limit: list.limit,
                [
                    Column("ID", "id"), Column("STATE", "state"), Column("KIND", "kind"),
                    Column("IDENTIFIER", "identifier"), Column("DESCRIPTION", "description"),
                    Column("CREATED", "createdAt"), Column("NODE", "node", isWide: true),
                ], nothing: "There are no sessions.", list.remote)
        }
    }
}

struct SchedulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules", abstract: "Shows, pauses and runs schedules of a running service.",
        subcommands: [
            List.self, ShowResource<Kind>.self, PauseResource<Kind>.self, ResumeResource<Kind>.self, Run.self,
        ], defaultSubcommand: List.self)

    enum Kind: ResourceKind {
        static let collection = "schedules"
        static let one = "a schedule"
        static let verb = "Makes"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "ls", abstract: "Lists schedules.")
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/schedules", limit: list.limit,
                [
                    Column("ID", "id"), Column("STATE", "state"),
                    Column("WHEN") { value in
                        value.member("cron")?.text ?? value.member("interval").map { "every \($0.plain) s" } ?? ""
                    },
                    Column("NEXT", "nextRunAt"), Column("LAST", "lastRunAt"), Column("RUNS", "runs"),
                    Column("ERROR", "lastError.message", isWide: true),
                ], nothing: "There are no schedules.", list.remote)
        }
    }

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a job of a schedule now.")
        @OptionGroup var schedule: NamedResource
        func run() async throws { try await schedule.ask(.post, Kind.collection, "run") }
    }
}

struct QuestionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "questions", abstract: "Shows and answers questions that jobs wait for.",
        subcommands: [List.self, ShowResource<Kind>.self, Answer.self], defaultSubcommand: List.self)

    enum Kind: ResourceKind {
        static let collection = "questions"
        static let one = "a question"
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ls", abstract: "Lists questions, open ones first.")
        @Option(help: "Only questions in this state; all for any.")
        var state = "open"
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/questions", query: [("state", state == "all" ? nil : state)], limit: list.limit,
                [
                    Column("ID", "id"), Column("KIND", "kind"), Column("STATE", "state"), Column("JOB", "job"),
                    Column("ASKED", "askedAt"), Column("DEADLINE", "deadline"),
                    Column("ANSWERS", isWide: true) { $0.member("answers")?.json ?? "" },
                ], nothing: "No job waits for an answer.", list.remote)
        }
    }

    struct Answer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Answers a question, and its job goes on.",
            discussion: "  fetchd questions answer qst_… follow\n  fetchd questions answer qst_… '{\"answer\": …}'")

        @Argument(help: "The question (qst_…).")
        var id: String
        @Argument(help: "The word of the answer, as the question lists them, or an answer in JSON.")
        var answer: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                let service = try remote.service()
                let question = try await service.ask(.get, RemoteService.path("v1", "questions", id))
                guard let job = question.member("job")?.text else {
                    throw RemoteFailure(.refused, "The question names no job.")
                }
                let isJSON = answer.hasPrefix("{") || answer.hasPrefix("\"")
                let body = isJSON ? Array(answer.utf8) : JSONWriter.object { $0.member("answer", answer) }
                remote.show(
                    try await service.ask(
                        .post, RemoteService.path("v1", "jobs", job, "questions", id), body: body))
            }
        }
    }
}

struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Explains and purges the cache of a running service.",
        subcommands: [Explain.self, Purge.self])

    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says what is cached for a URL, and what would become of a request.")

        @Argument(help: "The URL.")
        var target: String
        @Option(help: "The session whose cache is meant.")
        var session: String?
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                let answer = try await remote.service().ask(
                    .get, "/v1/cache/explain", query: [("url", target), ("session", session)])
                guard remote.output != .json else { return remote.show(answer) }
                remote.show(
                    answer.member("answers")?.elements ?? [],
                    [
                        Column("VERDICT", "verdict"), Column("STATUS", "status"), Column("AGE", "age"),
                        Column("FRESH FOR", "freshnessLifetime"), Column("BYTES", "bytes"), Column("TYPE", "mimeType"),
                        Column("RESPONDED", "respondedAt"), Column("ID", "id", isWide: true),
                    ], nothing: "Nothing is cached for the URL.")
            }
        }
    }

    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes cached answers: of a URL, a host, a prefix or a tag, or all.")

        @Option(help: "Those of this URL.")
        var of: String?
        @Option(help: "Those of this host.")
        var host: String?
        @Option(help: "Those whose URLs begin so.")
        var prefix: String?
        @Option(help: "Those with this tag.")
        var tag: String?
        @Option(help: "Those of this session.")
        var session: String?
        @Flag(help: "All of the tenant.")
        var all = false
        @OptionGroup var remote: RemoteOptions

        func validate() throws {
            let isChosen = [of, host, prefix, tag, session].contains { $0 != nil }
            guard isChosen != all else { throw ValidationError("Say what is purged, or --all, and not both.") }
        }

        func run() async throws {
            try await ResourceLists.ask(
                .delete, "/v1/cache",
                query: [
                    ("all", all ? "true" : nil), ("url", of), ("host", host), ("prefix", prefix), ("tag", tag),
                    ("session", session),
                ], remote)
        }
    }
}

extension WebhooksCommand {
    struct Endpoints: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the endpoints of a running service.")
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/webhooks/endpoints", limit: list.limit,
                [
                    Column("ID", "id"), Column("ENABLED", "enabled"), Column("URL", "url"),
                    Column("FAILING SINCE", "failingSince"),
                    Column("EVENTS", isWide: true) { $0.member("events")?.json ?? "" },
                    Column("REASON", "disabledReason", isWide: true),
                ], nothing: "There are no endpoints.", list.remote)
        }
    }

    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists deliveries of events, the newest first.")
        @Option(help: "Only deliveries in this state: pending, delivered, abandoned.")
        var state: String?
        @Option(help: "Only deliveries to this endpoint.")
        var endpoint: String?
        @Option(help: "Only deliveries about this job.")
        var job: String?
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await ResourceLists.run(
                "/v1/webhooks/deliveries", query: [("state", state), ("endpoint", endpoint), ("job", job)],
                limit: list.limit,
                [
                    Column("ID", "id"), Column("EVENT", "event"), Column("STATE", "state"),
                    Column("ATTEMPTS", "countOfAttempts"), Column("STATUS", "lastStatus"), Column("JOB", "job"),
                    Column("NEXT", "nextAttemptAt"), Column("ENDPOINT", "endpoint", isWide: true),
                ], nothing: "There are no such deliveries.", list.remote)
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends an endpoint a test event, and shows how it has answered.",
            discussion: """
                Exit status: 0 the endpoint has taken it, 1 it has not, 64 wrong usage, 69 the service cannot be reached.
                """)
        /// A receiver has 15 seconds to answer.
        private static let patience = Duration.seconds(20)

        @Argument(help: "The endpoint (whe_…).")
        var endpoint: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await RemoteFailure.reporting {
                let service = try remote.service()
                var delivery = try await service.ask(
                    .post, RemoteService.path("v1", "webhooks", "endpoints", endpoint, "test"))
                let path = RemoteService.path("v1", "webhooks", "deliveries", delivery.member("id")?.text ?? "")
                let deadline = ContinuousClock.now + Self.patience
                while delivery.member("attempts")?.elements.isEmpty != false, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(200))
                    delivery = try await service.ask(.get, path)
                }
                remote.show(delivery)
                guard delivery.member("state")?.text == "delivered" else { throw ExitCode(1) }
            }
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Sends an event again.")
        @OptionGroup var delivery: NamedResource
        func run() async throws { try await delivery.ask(.post, "webhooks/deliveries", "replay") }
    }
}
