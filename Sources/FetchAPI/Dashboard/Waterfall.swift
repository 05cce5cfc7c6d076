import FetchJobs

/// The phases of the transfers of one attempt, as bars on a common time line.
struct Waterfall: Equatable {
    enum Phase: String, CaseIterable {
        case queue, domainLookup, connect, secureConnection, request, waiting, response

        var title: String {
            switch self {
            case .queue: "Queue"
            case .domainLookup: "Name lookup"
            case .connect: "Connect"
            case .secureConnection: "TLS"
            case .request: "Send"
            case .waiting: "Wait"
            case .response: "Receive"
            }
        }
    }

    struct Bar: Equatable {
        let phase: Phase
        /// In seconds on the time line of the chart.
        let start: Double
        let end: Double
    }

    struct Row: Equatable {
        let start: Double
        let end: Double
        fileprivate(set) var bars: [Bar]

        /// How long the transfer took.
        var duration: Double { end - start }
    }

    /// Seconds that the attempt was due before it began.
    let queued: Double
    private(set) var rows: [Row] = []

    /// Seconds from the first bar to the end of the last transfer.
    var duration: Double { rows.map(\.end).max() ?? 0 }

    /// Reads an attempt's metrics, and leaves out values of a wrong form.
    ///
    /// - Parameter queued: Seconds that the attempt was due before it began; drawn before the first transfer, and no
    ///   longer than all transfers together, so that they can be seen after a wait of hours.
    init(metrics: JSONValue?, queued: Double = 0) {
        self.queued = max(0, queued)
        guard case .array(let transfers) = metrics else { return }
        let starts = transfers.map { $0.member("fetchStart")?.text.flatMap(Self.seconds) }
        let first = starts.compactMap { $0 }.min() ?? 0
        rows = zip(transfers, starts).map { Self.row($0, from: max(0, ($1 ?? first) - first)) }
        let wait = min(self.queued, duration)
        guard wait > 0, !rows.isEmpty else { return }
        rows = rows.map { $0.shifted(by: wait) }
        rows[0].bars.insert(Bar(phase: .queue, start: 0, end: wait), at: 0)
    }

    private static func row(_ transfer: JSONValue, from start: Double) -> Row {
        var bars = Phase.allCases.compactMap { phase -> Bar? in
            guard phase != .waiting, phase != .queue, let (from, to) = span(transfer.member(phase.rawValue)) else {
                return nil
            }
            return Bar(phase: phase, start: start + from, end: start + to)
        }
        // The handshake is part of what `connect` spans.
        if let index = bars.firstIndex(where: { $0.phase == .connect }),
            let handshake = bars.first(where: { $0.phase == .secureConnection }), handshake.start < bars[index].end,
            handshake.start >= bars[index].start
        {
            bars[index] = Bar(phase: .connect, start: bars[index].start, end: handshake.start)
        }
        if let sent = bars.first(where: { $0.phase == .request })?.end,
            let received = bars.first(where: { $0.phase == .response })?.start, received > sent
        {
            bars.append(Bar(phase: .waiting, start: sent, end: received))
        }
        bars.sort { $0.start < $1.start }
        let duration = transfer.member("duration")?.double.flatMap { $0.isFinite ? max(0, $0) : nil } ?? 0
        let end = max(start + duration, bars.map(\.end).max() ?? start)
        return Row(start: start, end: end, bars: bars)
    }

    private static func span(_ value: JSONValue?) -> (Double, Double)? {
        guard case .array(let ends) = value, ends.count == 2, let from = ends[0].double, let to = ends[1].double,
            from.isFinite, to.isFinite, from >= 0, to >= from
        else { return nil }
        return (from, to)
    }

    /// Seconds of an RFC 3339 time within its day; enough to tell how far apart the transfers of an attempt lie.
    private static func seconds(_ text: String) -> Double? {
        let time = text.split(separator: "T").last?.prefix { $0 != "Z" && $0 != "+" }.split(separator: ":") ?? []
        guard time.count == 3, let hours = Double(time[0]), let minutes = Double(time[1]), let seconds = Double(time[2])
        else { return nil }
        return hours * 3600 + minutes * 60 + seconds
    }
}

extension Waterfall {
    static let width = 1000.0
    static let rowHeight = 18.0

    /// The chart of one row, drawn on the time line of all; it takes its colours from the style sheet.
    func svg(_ row: Row) -> String {
        let scale = Self.width / max(duration, 0.000_001)
        let label = phases(of: row).map { "\($0.title) \(Self.show($1))" }.joined(separator: ", ")
        var svg = "<svg class=\"waterfall\" viewBox=\"0 0 1000 18\" preserveAspectRatio=\"none\" role=\"img\""
        svg += " aria-label=\"\(label)\">"
        svg += Self.rect("track", x: 0, width: Self.width)
        svg += Self.rect("span", x: row.start * scale, width: (row.end - row.start) * scale)
        for bar in row.bars {
            svg += Self.rect(bar.phase.rawValue, x: bar.start * scale, width: (bar.end - bar.start) * scale)
        }
        return svg + "</svg>"
    }

    /// How long each phase took, in seconds.
    func phases(of row: Row) -> [(Phase, Double)] {
        row.bars.map { ($0.phase, $0.phase == .queue ? queued : $0.end - $0.start) }
    }

    private static func rect(_ name: String, x: Double, width: Double) -> String {
        // A bar too short to see is drawn two units wide.
        let shown = min(max(width, 2), Self.width)
        let left = min(x, Self.width - shown)
        return "<rect class=\"\(name)\" x=\"\(number(left))\" y=\"0\" width=\"\(number(shown))\" height=\"18\"/>"
    }

    private static func number(_ value: Double) -> String { String((value * 10).rounded() / 10) }

    /// A duration for people: `12.3 ms`, `1.25 s`.
    static func show(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.01: "\(((seconds * 100_000).rounded() / 100)) ms"
        case ..<1: "\(((seconds * 10_000).rounded() / 10)) ms"
        default: "\(((seconds * 100).rounded() / 100)) s"
        }
    }
}

extension Waterfall.Row {
    fileprivate func shifted(by seconds: Double) -> Self {
        Self(
            start: start + seconds, end: end + seconds,
            bars: bars.map { .init(phase: $0.phase, start: $0.start + seconds, end: $0.end + seconds) })
    }
}

extension JSONValue {
    /// The value for people: a string without its quotes, anything else as JSON.
    var shown: String { text ?? json }
}
