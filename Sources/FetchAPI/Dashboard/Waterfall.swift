import FetchJobs

/// The phases of the transfers of one attempt, in seconds since the first of them began.
struct Waterfall: Equatable {
    enum Phase: String, CaseIterable {
        case domainLookup, connect, secureConnection, request, waiting, response

        var title: String {
            switch self {
            case .domainLookup: "Name lookup"
            case .connect: "Connect"
            case .secureConnection: "TLS"
            case .request: "Send"
            case .waiting: "First byte"
            case .response: "Receive"
            }
        }
    }

    struct Bar: Equatable {
        let phase: Phase
        let start: Double
        let end: Double
    }

    /// One transfer.
    struct Row: Equatable {
        let start: Double
        let end: Double
        let bars: [Bar]
    }

    let rows: [Row]
    /// When the first transfer began; nil when none tells.
    let began: Timestamp?

    /// Reads an attempt's metrics, and leaves out values of a wrong form.
    init(metrics: JSONValue?) {
        let transfers = metrics?.elements ?? []
        let starts = transfers.map { $0.member("fetchStart")?.text.flatMap { Timestamp(rfc3339: $0) } }
        let first = starts.compactMap(\.self).min()
        began = first
        rows = zip(transfers, starts).map { transfer, start in
            let offset = start.flatMap { start in first.map { start.microseconds - $0.microseconds } } ?? 0
            return Self.row(transfer, from: Double(offset) / 1_000_000)
        }
    }

    private static func row(_ transfer: JSONValue, from start: Double) -> Row {
        var bars = Phase.allCases.compactMap { phase -> Bar? in
            guard phase != .waiting, let (from, to) = span(transfer.member(phase.rawValue)) else { return nil }
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

    /// A duration for people: `12.3 ms`, `1.25 s`.
    static func show(_ seconds: Double) -> String {
        switch seconds {
        case ..<0.01: "\(((seconds * 100_000).rounded() / 100)) ms"
        case ..<1: "\(((seconds * 10_000).rounded() / 10)) ms"
        default: "\(((seconds * 100).rounded() / 100)) s"
        }
    }
}

extension JSONValue {
    /// The value for people: a string without its quotes, anything else as JSON.
    var shown: String { text ?? json }
}
