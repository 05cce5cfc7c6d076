import ArgumentParser
import FetchJobs
import Glibc
import HTTPTypes

/// What a running service does, as it does it.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows what a running service does, again and again.",
        discussion: """
            On a terminal the picture is drawn anew; elsewhere one line is written each time. With -o json or ndjson \
            each look is one JSON object.
            """
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("The time between two looks.", valueName: "seconds"))
    var interval = 2.0
    @Option(name: [.customShort("n"), .long], help: "How many looks; until it is interrupted by default.")
    var count: Int?
    @OptionGroup var remote: RemoteOptions

    func validate() throws {
        guard (0.1...3600).contains(interval) else { throw ValidationError("--interval is from 0.1 to 3600 seconds.") }
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is more than 0.") }
    }

    func run() async throws {
        try await RemoteFailure.reporting {
            let service = try remote.service()
            let redraws = remote.output.isForPeople && isatty(STDOUT_FILENO) == 1 && !Self.isDumb
            var looks = 0
            while true {
                let look = try await Look(of: service)
                if !remote.output.isForPeople {
                    RemoteOptions.write(look.json)
                } else if redraws {
                    // Home, the lines each with the rest of theirs cleared, and nothing below.
                    RemoteOptions.write(
                        "\u{1B}[H"
                            + look.lines(isWide: remote.output == .wide).map { $0 + "\u{1B}[K" }
                            .joined(separator: "\n") + "\u{1B}[J")
                } else {
                    RemoteOptions.write(look.line)
                }
                looks += 1
                if looks == count { return }
                try await Task.sleep(for: .seconds(interval))
            }
        }
    }

    private static var isDumb: Bool { getenv("TERM").map { String(cString: $0) } ?? "dumb" == "dumb" }

    /// What was seen at one time.
    struct Look {
        let time = Timestamp.now
        let queue: JSONValue
        let statistics: JSONValue
        let running: [JSONValue]

        init(of service: RemoteService) async throws(RemoteFailure) {
            queue = try await service.ask(.get, "/v1/queue")
            statistics = try await service.ask(.get, "/v1/stats", query: [("hours", "1")])
            running = try await service.list("/v1/jobs", query: [("state", "running")], limit: 20)
        }

        init(queue: JSONValue, statistics: JSONValue, running: [JSONValue]) {
            self.queue = queue
            self.statistics = statistics
            self.running = running
        }

        private func number(_ path: String) -> String { statistics.at(path)?.plain ?? "0" }

        /// All of it as JSON.
        var json: String {
            JSONValue.object([
                JSONMember("time", .string("\(time)")), JSONMember("queue", queue),
                JSONMember("statistics", statistics), JSONMember("running", .array(running)),
            ]).json
        }

        /// The figures, for a log.
        var line: String {
            let states = ["queued", "scheduled", "running", "awaitingDecision", "suspended"].map {
                "\($0)=\(number("current.\($0)"))"
            }
            let ends = ["succeeded", "failed", "cancelled"].map { "\($0)=\(number("ended.\($0)"))" }
            return (["\(time)"] + states + ends + ["per_second=\(number("ended.jobsPerSecond"))"])
                .joined(separator: " ")
        }

        /// A picture for a terminal.
        func lines(isWide: Bool) -> [String] {
            var lines = [
                "fetchd \(time)" + (queue.member("paused") == .bool(true) ? "  PAUSED" : "")
                    + (queue.member("servicePaused") == .bool(true) ? "  SERVICE PAUSED" : ""),
                "now        "
                    + ["queued", "scheduled", "running", "awaitingDecision", "suspended"]
                    .map { "\(number("current.\($0)")) \($0)" }.joined(separator: "  "),
                "this hour  "
                    + ["succeeded", "failed", "cancelled"]
                    .map { "\(number("ended.\($0)")) \($0)" }.joined(separator: "  ")
                    + "  \(number("ended.jobsPerSecond"))/s  "
                    + ByteCount.text(statistics.at("ended.bodyBytes")?.integer ?? 0),
                "took       p50 \(number("sample.duration.p50")) s  p99 \(number("sample.duration.p99")) s   waited p50 "
                    + "\(number("sample.waiting.p50")) s  p99 \(number("sample.waiting.p99")) s", "",
            ]
            let hosts = statistics.member("hosts")?.elements.prefix(10) ?? []
            if !hosts.isEmpty {
                lines +=
                    TextTable(
                        [
                            Column("HOST", "host"), Column("JOBS", "jobs"), Column("UNSUCCESSFUL", "unsuccessful"),
                            Column("P50", "duration.p50"), Column("P99", "duration.p99"),
                        ], isWide: isWide
                    ).lines(Array(hosts)) + [""]
            }
            if !running.isEmpty {
                lines += TextTable(
                    [
                        Column("RUNNING", "id"), Column("METHOD", "method"), Column("URL", "url"),
                        Column("SINCE", "createdAt"),
                    ],
                    isWide: isWide
                ).lines(running)
            }
            return lines
        }
    }
}
