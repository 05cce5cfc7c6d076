package import FetchJobs

/// Which traces are recorded, by OpenTelemetry's names.
package enum TraceSampler: String, Sendable, CaseIterable {
    case alwaysOn = "always_on"
    case alwaysOff = "always_off"
    case traceIDRatio = "traceidratio"
    case parentBasedAlwaysOn = "parentbased_always_on"
    case parentBasedAlwaysOff = "parentbased_always_off"
    case parentBasedTraceIDRatio = "parentbased_traceidratio"

    /// Whether a trace is recorded from here on.
    ///
    /// - Parameters:
    ///   - parent: Who has asked, when they are in a trace.
    ///   - ratio: The share of traces, from 0 to 1, for samplers that go by it.
    package func takes(_ trace: TraceID, parent: TraceContext?, ratio: Double) -> Bool {
        switch self {
        case .alwaysOn: true
        case .alwaysOff: false
        case .traceIDRatio: Self.isWithin(ratio, trace)
        case .parentBasedAlwaysOn: parent?.isSampled ?? true
        case .parentBasedAlwaysOff: parent?.isSampled ?? false
        case .parentBasedTraceIDRatio: parent?.isSampled ?? Self.isWithin(ratio, trace)
        }
    }

    /// Whether it takes some of the traces that nobody else has decided about.
    package var drawsLots: Bool { self == .traceIDRatio || self == .parentBasedTraceIDRatio }

    /// By 63 bits of the id, as the samplers of other programs do, so that all take the same ones.
    private static func isWithin(_ ratio: Double, _ trace: TraceID) -> Bool {
        ratio >= 1 || Double(trace.low >> 1) < ratio * 0x1p63
    }
}
