import FetchJobs

/// The attempts of a job on one time line that begins with its submission: what it waited for, and the phases of each
/// transfer.
struct Timeline {
    /// A line of the drawing.
    struct Row {
        /// What it shows; it may have texts of an origin.
        let title: String
        let duration: String
        /// Markup, made of numbers and words of ours only.
        let chart: String
    }

    /// What a bar shows.
    enum Kind: Equatable {
        case scheduled, queue, ended, working
        case phase(Waterfall.Phase)

        var name: String {
            switch self {
            case .scheduled: "scheduled"
            case .queue: "queue"
            case .ended: "ended"
            case .working: "working"
            case .phase(let phase): phase.rawValue
            }
        }

        var title: String {
            switch self {
            case .scheduled: "Waiting for its time"
            case .queue: "Waiting for a slot"
            case .ended: "Ended, until it was tried again"
            case .working: "Running"
            case .phase(let phase): phase.title
            }
        }
    }

    struct Bar: Equatable {
        let kind: Kind
        /// In seconds since the submission.
        let start: Double
        let end: Double
    }

    private struct Line {
        let title: String
        let bars: [Bar]

        var start: Double { bars.map(\.start).min() ?? 0 }
        var end: Double { bars.map(\.end).max() ?? 0 }
    }

    /// So many lines are drawn, the last ones.
    private static let maximumRows = 40

    let rows: [Row]
    let ruler: String
    /// The kinds of bars that are drawn, for a legend.
    let kinds: [Kind]

    /// - Parameter measured: The last attempts, which are drawn with the phases of their transfers; earlier ones are one bar.
    init(_ job: Job, _ measured: [MeasuredAttempt], due: Timestamp, now: Timestamp) {
        let since = { (time: Timestamp) in
            max(0, Double(time.microseconds - job.createdAt.microseconds) / 1_000_000)
        }
        var lines: [Line] = []
        var work: [ClosedRange<Double>] = []
        var (ended, due, wasFinal) = (0.0, since(due), false)
        let measuredFrom = job.attempts.count - measured.count
        for (index, attempt) in job.attempts.enumerated() {
            let (start, end) = (since(attempt.startedAt), since(attempt.finishedAt))
            lines += Self.wait(for: attempt.number, from: ended, due: due, to: start, wasFinal)
            if index >= measuredFrom {
                lines += Self.transfers(of: measured[index - measuredFrom], from: start, to: max(start, end), since)
            } else {
                lines.append(Self.line(of: attempt.number, from: start, to: max(start, end)))
            }
            work.append(start...max(start, end))
            (ended, due) = (max(start, end), attempt.nextAttemptAt.map(since) ?? end)
            wasFinal = attempt.nextAttemptAt == nil && attempt.state.isFinal
        }
        if !job.state.isFinal {
            let start = job.isClaimed ? job.startedAt.map(since) : nil
            let number = (job.attempts.last?.number ?? 0) + 1
            lines += Self.wait(for: number, from: ended, due: due, to: max(ended, start ?? since(now)), wasFinal)
            if let start, start >= ended, since(now) > start {
                lines.append(Self.line(of: number, from: start, to: since(now)))
                work.append(start...since(now))
            }
        }
        let end = lines.map(\.end).max() ?? 0
        let scale = TimeScale(work: work, end: end)
        let shown = lines.suffix(Self.maximumRows)
        ruler = Self.ruler(scale)
        rows = shown.map { line in
            Row(
                title: line.title, duration: Waterfall.show(line.end - line.start),
                chart: Self.chart(line.bars, scale))
        }
        let drawn = shown.flatMap(\.bars).map(\.kind)
        kinds = ([.scheduled, .queue, .ended, .working] + Waterfall.Phase.allCases.map(Kind.phase)).filter(
            drawn.contains)
    }

    // MARK: Lines

    /// - Parameter wasFinal: The attempt before was the last one then, and the job was tried again at a time that is not
    ///   stored.
    private static func wait(
        for number: Int, from start: Double, due: Double, to end: Double, _ wasFinal: Bool
    ) -> [Line] {
        let due = min(max(due, start), end)
        let waits = [Bar(kind: .scheduled, start: start, end: due), Bar(kind: .queue, start: due, end: end)]
        let bars = (wasFinal ? [Bar(kind: .ended, start: start, end: end)] : waits).filter { $0.end > $0.start }
        return bars.isEmpty ? [] : [Line(title: number == 1 ? "Waiting" : "Waiting for attempt \(number)", bars: bars)]
    }

    private static func line(of number: Int, from start: Double, to end: Double) -> Line {
        Line(title: "Attempt \(number)", bars: [Bar(kind: .working, start: start, end: end)])
    }

    private static func transfers(
        of measured: MeasuredAttempt, from start: Double, to end: Double, _ since: (Timestamp) -> Double
    ) -> [Line] {
        let number = measured.attempt.number
        let waterfall = measured.waterfall
        guard !waterfall.rows.isEmpty else { return [line(of: number, from: start, to: end)] }
        let offset = max(start, waterfall.began.map(since) ?? start)
        return zip(measured.transfers, waterfall.rows).suffix(maximumRows).map { transfer, row in
            let status = transfer.member("status")?.integer.map { "\($0)" } ?? "no response"
            let url = VisibleText.cut(transfer.member("url")?.text ?? "")
            let whole = Bar(kind: .working, start: offset + row.start, end: offset + row.end)
            let phases = row.bars.map {
                Bar(kind: .phase($0.phase), start: offset + $0.start, end: offset + $0.end)
            }
            return Line(title: "\(number) · \(status) \(url)", bars: phases.isEmpty ? [whole] : phases)
        }
    }

    // MARK: Drawing

    /// The lines as markup, which a template would take longer for.
    var markup: String {
        var markup = ""
        for row in rows {
            let title = MarkupEscape.escaped(row.title)
            markup += "<div class=\"line\"><span class=\"what\" title=\"\(title)\">\(title)</span>"
            markup += "<span class=\"hint\">\(row.duration)</span>\(row.chart)</div>\n"
        }
        return markup
    }

    private static func ruler(_ scale: TimeScale) -> String {
        let marks = scale.ticks.map { tick in
            let text = tick.cut.map { "⋯ \(short($0))" } ?? short(tick.seconds)
            let name = tick.cut == nil ? "tick" : "cut"
            let x = percent(tick.place)
            return "<line class=\"\(name)\" x1=\"\(x)\" x2=\"\(x)\" y1=\"14\" y2=\"20\"/>"
                + "<text x=\"\(x)\" y=\"11\">\(text)</text>"
        }
        return "<svg class=\"ruler\" aria-hidden=\"true\">\(marks.joined())</svg>"
    }

    private static func chart(_ bars: [Bar], _ scale: TimeScale) -> String {
        let label = bars.map { "\($0.kind.title) \(Waterfall.show($0.end - $0.start))" }.joined(separator: ", ")
        var svg = "<svg class=\"bars\" role=\"img\" aria-label=\"\(label)\">"
        svg += "<rect class=\"track\" width=\"100%\" height=\"16\"/>"
        for bar in bars {
            // A bar that is too short to be seen is drawn a little longer.
            let width = max(scale.place(of: bar.end) - scale.place(of: bar.start), 0.003)
            let x = min(scale.place(of: bar.start), 1 - width)
            svg += "<rect class=\"\(bar.kind.name)\" x=\"\(percent(x))\" width=\"\(percent(width))\" height=\"16\">"
            svg += "<title>\(bar.kind.title) \(Waterfall.show(bar.end - bar.start))</title></rect>"
        }
        return svg + "</svg>"
    }

    private static func percent(_ part: Double) -> String { "\((part * 100_00).rounded() / 100)%" }

    /// A time in the unit that fits: `250 ms`, `1.5 s`, `3 min`.
    private static func short(_ seconds: Double) -> String {
        switch seconds {
        case 0: "0"
        case ..<0.001: "\(Chart.number(seconds * 1_000_000)) µs"
        case ..<1: "\(Chart.number(seconds * 1000)) ms"
        case ..<120: "\(Chart.number(seconds)) s"
        case ..<7200: "\(Chart.number(seconds / 60)) min"
        default: "\(Chart.number(seconds / 3600)) h"
        }
    }
}
