import FetchJobs

/// The newest jobs that have ended, and what they have in common.
struct Sample {
    /// The jobs of one part of the sample's time.
    struct Column {
        let label: String
        let jobs: [SampledJob]
    }

    struct Slices {
        let from: Timestamp
        let to: Timestamp
        let columns: [Column]
    }

    /// The longest times first, as they are drawn.
    static let durations: [(range: Range<Double>, title: String)] = [
        (100..<Double.infinity, "over 100 s"), (30..<100, "30 to 100 s"), (10..<30, "10 to 30 s"),
        (3..<10, "3 to 10 s"),
        (1..<3, "1 to 3 s"), (0.3..<1, "0.3 to 1 s"), (0.1..<0.3, "100 to 300 ms"), (0.03..<0.1, "30 to 100 ms"),
        (0.01..<0.03, "10 to 30 ms"), (0..<0.01, "under 10 ms"),
    ]

    private static let columns: Int64 = 30

    let jobs: [SampledJob]

    init(_ jobs: [SampledJob]) { self.jobs = jobs }

    /// Whether more jobs have ended than the sample has.
    var isCut: Bool { jobs.count >= SampledJob.limit }

    /// What the sample is, and what its times are.
    func words(now: Timestamp) -> String {
        guard !jobs.isEmpty else { return "No job of the last 24 hours has ended." }
        let which = isCut ? "the newest \(Figure.text(Int64(jobs.count))) jobs" : "all \(jobs.count) jobs"
        var text = "Answers, times, errors and hosts are of \(which) of the last 24 hours that have ended"
        if isCut { text += "; there are more" }
        let times = [
            ("load", Percentiles(jobs.compactMap(\.duration))), ("wait", Percentiles(jobs.compactMap(\.waiting))),
        ]
        for (name, times) in times {
            guard let times else { continue }
            text += ". They \(name) \(times.words)"
        }
        return text + "."
    }

    /// The jobs by the time of their end; nil without jobs.
    var slices: Slices? {
        guard let from = jobs.map(\.finishedAt).min(), let to = jobs.map(\.finishedAt).max() else { return nil }
        let span = max(to.microseconds - from.microseconds, Self.columns)
        let groups = Dictionary(grouping: jobs) { job in
            min((job.finishedAt.microseconds - from.microseconds) * Self.columns / span, Self.columns - 1)
        }
        let columns = (0..<Self.columns).map { number in
            let start = Timestamp(microseconds: from.microseconds + span / Self.columns * number)
            return Column(label: Clock.second(start), jobs: groups[number] ?? [])
        }
        return Slices(from: from, to: to, columns: columns)
    }

    /// The first digit of a status, as charts tell answers apart.
    static func answer(_ status: Int?) -> Int? {
        // Informational ones are never the last.
        status.map { max($0 / 100, 2) }
    }
}

/// The times that half, nine tenths and all but one in a hundred keep within.
struct Percentiles {
    let words: String

    /// - Parameter seconds: Nil is made of none.
    init?(_ seconds: [Double]) {
        guard !seconds.isEmpty else { return nil }
        let sorted = seconds.sorted()
        words = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %")].map { part, name in
            "\(Waterfall.show(Self.value(part, in: sorted))) (\(name))"
        }.joined(separator: ", ")
    }

    /// The smallest value that a part of all does not exceed.
    static func value(_ part: Double, in sorted: [Double]) -> Double {
        sorted[min(sorted.count - 1, Int((Double(sorted.count) * part).rounded(.up)) - 1)]
    }
}

/// How the jobs of a sample for one host, or of one flow, went.
struct Activity {
    /// The host, or the key of the flow.
    let name: String
    let jobs: Int
    /// Without an answer.
    let failed: Int
    /// Answered with a status from 500.
    let refused: Int
    /// The time of half of the loads.
    let median: String?
    /// The time that all but one load in twenty keep within.
    let slowest: String?
    let last: Timestamp

    /// Those with most jobs first.
    static func all(in jobs: [SampledJob], of kind: Limiter.Kind) -> [Activity] {
        let named = jobs.compactMap { job in (kind == .host ? job.host : job.flow).map { (name: $0, job: job) } }
        return Dictionary(grouping: named, by: \.name)
            .map { name, jobs in Activity(name, jobs.map(\.job)) }
            .sorted { ($0.jobs, $1.name) > ($1.jobs, $0.name) }
    }

    private init(_ name: String, _ jobs: [SampledJob]) {
        self.name = name
        self.jobs = jobs.count
        failed = jobs.count { $0.state == .failed }
        refused = jobs.count { ($0.status ?? 0) >= 500 }
        let times = jobs.compactMap(\.duration).sorted()
        median = times.isEmpty ? nil : Waterfall.show(Percentiles.value(0.5, in: times))
        slowest = times.isEmpty ? nil : Waterfall.show(Percentiles.value(0.95, in: times))
        last = jobs.map(\.finishedAt).max() ?? .now
    }
}

/// Times of the day, in UTC, for the labels of charts.
enum Clock {
    static func minute(_ time: Timestamp) -> String { part(time, 16) }
    static func second(_ time: Timestamp) -> String { part(time, 19) }

    private static func part(_ time: Timestamp, _ end: Int) -> String {
        String(time.description.prefix(end)).replacing("T", with: " ")
    }
}
