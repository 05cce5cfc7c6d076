import FetchJobs

/// A tenant's jobs at a glance, and how the service does.
struct OverviewPage {
    struct Group {
        let title: String
        let tiles: [Tile]
    }

    struct Tile {
        let title: String
        let number: String
        let style: String
        let note: String?
        /// Where what is counted is listed; nil where the visitor may not look.
        let href: String?
    }

    struct Graph {
        struct Label {
            let style: String
            let title: String
        }

        let title: String
        /// Markup, made of numbers and words of ours only.
        let chart: String
        /// The highest value that is drawn.
        let most: String
        /// The lowest, where that is not zero.
        var least: String?
        let from: String
        let to: String
        let labels: [Label]
        /// The same figures as text.
        let table: SheetPage.Table
    }

    let frame: PageFrame
    var notice: String?
    var search: SheetPage.Search?
    let groups: [Group]
    let graphs: [Graph]
    let hasGraphs: Bool
    /// What the sample is, in a sentence.
    let sampled: String
    let sections: [SheetPage.Section]

    init(_ content: Content, _ view: DashboardView, frame: PageFrame, now: Timestamp) {
        self.frame = frame
        let sample = Sample(content.sample)
        groups = [
            Group(title: "Now", tiles: Self.current(content, view, now)),
            Group(title: "Last 24 hours", tiles: Self.ended(content, sample, view)),
            Group(title: "Service", tiles: Self.service(content, view, now)),
        ]
        graphs = Self.graphs(content, sample, now)
        hasGraphs = !graphs.isEmpty
        sampled = sample.words(now: now)
        sections = [
            Self.errors(sample, view, now), Self.hosts(sample, view), Self.circuits(content, view, now),
            Self.nodes(content, view, now), Self.failures(content, view, now),
        ].compactMap(\.self)
    }

    /// All that the page tells of.
    struct Content {
        let figures: JobFigures
        let sample: [SampledJob]
        let nodes: [NodeFigures]
        /// The newest failed jobs.
        let failures: [JobSummary]
    }
}

// MARK: Figures

extension OverviewPage {
    private static func current(_ content: Content, _ view: DashboardView, _ now: Timestamp) -> [Tile] {
        JobState.allCases.filter { !$0.isFinal }.map { state in
            let oldest = state == .queued ? content.figures.oldestQueuedAt : nil
            return Tile(
                title: state.rawValue, number: Figure.text(content.figures.current[state] ?? 0),
                style: "state \(state.rawValue)", note: oldest.map { "oldest waits \(Age.text(since: $0, now: now))" },
                href: view.jobs(("state", state.rawValue)))
        }
    }

    private static func ended(_ content: Content, _ sample: Sample, _ view: DashboardView) -> [Tile] {
        let hours = content.figures.hours
        let all = hours.reduce(0) { $0 + $1.count }
        let states = JobState.allCases.filter(\.isFinal).map { state in
            let count = hours.reduce(0) { $0 + ($1.jobs[state] ?? 0) }
            return Tile(
                title: state.rawValue, number: Figure.text(count), style: "state \(state.rawValue)",
                note: Figure.percent(Double(count), of: Double(all)), href: view.jobs(("state", state.rawValue)))
        }
        let answers = [4, 5].map { number in
            let name = StatusFilter(class: number).description
            let count = sample.jobs.count { ($0.status ?? 0) / 100 == number }
            return Tile(
                title: "answered \(name)", number: Figure.text(Int64(count)), style: "state",
                note: sample.isCut ? "of the sample" : nil, href: view.jobs(("status", name)))
        }
        return states + answers
    }

    private static func service(_ content: Content, _ view: DashboardView, _ now: Timestamp) -> [Tile] {
        let figures = content.figures
        let jobs = figures.minutes.reduce(0) { $0 + $1.count }
        let bytes = figures.minutes.reduce(0) { $0 + $1.bodyBytes }
        let live = content.nodes.count { $0.leaseUntil > now }
        let given = figures.abandonedDeliveries
        return [
            Tile(
                title: "ended", number: Figure.text(jobs), style: "state",
                note: "last hour, \(Figure.rate(Double(jobs) / 3600)) jobs/s", href: view.jobs()),
            Tile(
                title: "received", number: Figure.bytes(bytes), style: "state",
                note: "last hour, \(Figure.bytesPerSecond(Double(bytes) / 3600))",
                href: view.jobs(("state", JobState.succeeded.rawValue))),
            Tile(
                title: "webhooks", number: Figure.text(figures.pendingDeliveries), style: "state",
                note: given.value > 0 ? "pending; \(Figure.text(given)) given up in 24 h" : "pending",
                href: view.list(
                    WebhookPages.deliveries,
                    ("state", (given.value > 0 ? DeliveryState.abandoned : .pending).rawValue))),
            Tile(
                title: "open circuits", number: Figure.text(Int64(figures.openCircuits.count)),
                style: figures.openCircuits.isEmpty ? "state" : "state scheduled", note: nil,
                href: view.list("/dashboard/hosts")),
            Tile(
                title: "questions", number: Figure.text(figures.openQuestions), style: "state", note: nil,
                href: view.list("/dashboard/questions")),
            Tile(
                title: live == 1 ? "node" : "nodes", number: "\(live)", style: live == 0 ? "state failed" : "state",
                note: nil, href: view.list(ServicePages.nodes)),
        ]
    }
}

// MARK: Graphs

extension OverviewPage {
    private static let ends: [(JobState, Chart.Part)] = [
        (.succeeded, Chart.Part(style: "good", title: "succeeded")),
        (.cancelled, Chart.Part(style: "dim", title: "cancelled")),
        (.failed, Chart.Part(style: "bad", title: "failed")),
    ]

    private static let answers: [(number: Int?, part: Chart.Part)] = [
        (2, Chart.Part(style: "good", title: "2xx")), (3, Chart.Part(style: "busy", title: "3xx")),
        (4, Chart.Part(style: "wait", title: "4xx")), (5, Chart.Part(style: "bad", title: "5xx")),
        (nil, Chart.Part(style: "dim", title: "no answer")),
    ]

    private static func graphs(_ content: Content, _ sample: Sample, _ now: Timestamp) -> [Graph] {
        let outcomes = ends.map(\.1)
        var graphs: [Graph] = []
        if !content.figures.minutes.isEmpty {
            graphs.append(
                graph(
                    "Jobs ended by minute, last hour", outcomes, bars(content.figures.minutes, of: 60, 60, now),
                    from: "1 h ago", to: "now"))
        }
        if !content.figures.hours.isEmpty {
            graphs.append(
                graph(
                    "Jobs ended by hour, last 24 hours", outcomes, bars(content.figures.hours, of: 3600, 24, now),
                    from: "24 h ago", to: "now"))
        }
        guard let slices = sample.slices else { return graphs }
        let parts = answers.map(\.part)
        let byAnswer = slices.columns.map { column in
            Chart.Bar(
                label: column.label,
                values: answers.map { number, _ in
                    Double(column.jobs.count { Sample.answer($0.status) == number })
                })
        }
        let (from, to) = (
            "\(Age.text(since: slices.from, now: now)) ago", "\(Age.text(since: slices.to, now: now)) ago"
        )
        graphs.append(graph("Answers by status class, sample", parts, byAnswer, from: from, to: to))
        graphs.append(heatmap(slices, from: from, to: to))
        return graphs
    }

    /// The last periods, with those that have no jobs.
    private static func bars(
        _ periods: [EndedJobs], of seconds: Int64, _ count: Int64, _ now: Timestamp
    ) -> [Chart.Bar] {
        let known = Dictionary(periods.map { ($0.start.seconds / seconds, $0) }, uniquingKeysWith: { $1 })
        let last = now.seconds / seconds
        return (last - count + 1...last).map { number in
            let start = Timestamp(microseconds: number * seconds * 1_000_000)
            return Chart.Bar(
                label: Clock.minute(start), values: ends.map { Double(known[number]?.jobs[$0.0] ?? 0) })
        }
    }

    private static func graph(
        _ title: String, _ parts: [Chart.Part], _ bars: [Chart.Bar], from: String, to: String
    ) -> Graph {
        let rows = bars.filter { $0.total > 0 }.map { bar in
            [SheetPage.Cell(.text(bar.label))]
                + bar.values.map { SheetPage.Cell(.number(Figure.text(Int64($0)))) }
        }
        return Graph(
            title: title, chart: Chart.bars(title, parts, bars),
            most: Figure.text(Int64(bars.map(\.total).max() ?? 0)), from: from, to: to,
            labels: parts.map { Graph.Label(style: $0.style, title: $0.title) },
            table: SheetPage.Table(title, ["Time (UTC)"] + parts.map(\.title), rows))
    }

    private static func heatmap(_ slices: Sample.Slices, from: String, to: String) -> Graph {
        let title = "Time of loads, sample"
        let rows = Sample.durations.map(\.title)
        let values = Sample.durations.map { range, _ in
            slices.columns.map { column in
                Double(column.jobs.count { $0.duration.map { range.contains($0) } ?? false })
            }
        }
        let sums = values.map { $0.reduce(0, +) }
        let table = SheetPage.Table(
            title, ["Time", "Jobs"],
            zip(rows, sums).map { [SheetPage.Cell(.text($0)), SheetPage.Cell(.number(Figure.text(Int64($1))))] })
        let words = zip(rows, sums).filter { $0.1 > 0 }.map { "\($0.0): \(Chart.number($0.1))" }
        return Graph(
            title: title,
            chart: Chart.heatmap(
                "\(title): \(words.joined(separator: ", "))", rows: rows, columns: slices.columns.map(\.label), values),
            most: rows.first ?? "", least: rows.last, from: from, to: to,
            labels: [Graph.Label(style: "heat1", title: "few jobs"), Graph.Label(style: "heat5", title: "many")],
            table: table)
    }
}

// MARK: Tables

extension OverviewPage {
    private static let maximumLines = 12

    private static func errors(_ sample: Sample, _ view: DashboardView, _ now: Timestamp) -> SheetPage.Section {
        struct Cause: Hashable {
            let error: String
            let host: String?
        }
        let failed = sample.jobs.filter { $0.state != .succeeded && $0.errorName != nil }
        let groups = Dictionary(grouping: failed) { Cause(error: $0.errorName ?? "", host: $0.host) }
        let most = groups.sorted { ($0.value.count, $1.key.error) > ($1.value.count, $0.key.error) }
        let rows = most.prefix(maximumLines).map { cause, jobs in
            let filter = [("error", cause.error), ("host", cause.host)] as [(String, String?)]
            let count = "\(jobs.count)"
            return [
                SheetPage.Cell(.code(cause.error)), SheetPage.Cell(.text(cause.host ?? "–")),
                SheetPage.Cell(.number(count, to: view.jobs(filter[0], filter[1]))),
                SheetPage.Cell(.time(jobs.map(\.finishedAt).max() ?? now, now: now)),
                SheetPage.Cell(jobs.first.map { .code("\($0.id)", to: view.job($0.id)) }),
            ]
        }
        return SheetPage.Section(
            heading: "Errors by cause and host",
            table: .init("Errors", ["Error", "Host", "Jobs", "Last", "Newest job"], rows, empty: "No errors."))
    }

    private static func hosts(_ sample: Sample, _ view: DashboardView) -> SheetPage.Section? {
        let failing = Activity.all(in: sample.jobs, of: .host).filter { $0.failed + $0.refused > 0 }
            .sorted { ($0.failed + $0.refused, $0.name) > ($1.failed + $1.refused, $1.name) }
        guard !failing.isEmpty else { return nil }
        let rows = failing.prefix(maximumLines).map { host in
            [
                SheetPage.Cell(.text(host.name)),
                SheetPage.Cell(.number("\(host.jobs)", to: view.jobs(("host", host.name)))),
                SheetPage.Cell(
                    .number(
                        "\(host.failed)",
                        to: view.jobs(("host", host.name), ("state", JobState.failed.rawValue)))),
                SheetPage.Cell(.number("\(host.refused)", to: view.jobs(("host", host.name), ("status", "5xx")))),
                SheetPage.Cell(.number(host.median ?? "–")), SheetPage.Cell(.number(host.slowest ?? "–")),
            ]
        }
        return SheetPage.Section(
            heading: "Hosts that fail",
            table: .init("Hosts that fail", ["Host", "Jobs", "Failed", "5xx", "Median", "95 %"], rows))
    }

    private static func circuits(_ content: Content, _ view: DashboardView, _ now: Timestamp) -> SheetPage.Section? {
        guard !content.figures.openCircuits.isEmpty else { return nil }
        let rows = content.figures.openCircuits.map { limiter in
            [
                SheetPage.Cell(.text(limiter.address.key)), SheetPage.Cell(.text(limiter.openCircuit?.reason)),
                SheetPage.Cell(limiter.openCircuit.map { .time($0.until, now: now) }),
                SheetPage.Cell(
                    .link(
                        "Jobs that wait",
                        to: view.jobs(("host", limiter.address.key), ("state", JobState.queued.rawValue)))),
            ]
        }
        let cut = rows.count == JobFigures.maximumCircuits ? "The \(rows.count) that wait longest." : nil
        return SheetPage.Section(
            heading: "Open circuits", hint: cut,
            table: .init("Open circuits", ["Host", "Signal", "Until", "Jobs"], rows))
    }

    /// For operators: it tells of the jobs of all tenants.
    private static func nodes(_ content: Content, _ view: DashboardView, _ now: Timestamp) -> SheetPage.Section? {
        guard view.mayOpen(ServicePages.nodes) else { return nil }
        return SheetPage.Section(
            heading: "Nodes", table: ServicePages.nodeTable(Array(content.nodes.prefix(maximumLines)), now: now))
    }

    private static func failures(_ content: Content, _ view: DashboardView, _ now: Timestamp) -> SheetPage.Section {
        let rows = content.failures.map { job in
            [
                SheetPage.Cell(.code("\(job.id)", to: view.job(job.id))),
                SheetPage.Cell(.text(job.errorName ?? job.status.map { "\($0)" })),
                SheetPage.Cell(.code("\(job.method) \(job.url)")), SheetPage.Cell(.time(job.createdAt, now: now)),
            ]
        }
        return SheetPage.Section(
            heading: "Newest failures", table: .init("Newest failures", ["Job", "Error", "Request", "Created"], rows))
    }
}
