package import HTTPTypes

/// The place of a request or a job in a trace (W3C Trace Context, the recommendation of November 2021).
///
/// An object, so that specs stay small that have none.
package final class TraceContext: Sendable {
    package let trace: TraceID
    /// The span whose children follow.
    package let span: SpanID
    /// Whether it is recorded, by whoever began it and those who follow them.
    package let isSampled: Bool
    package let state: TraceState?

    package init(trace: TraceID, span: SpanID, isSampled: Bool, state: TraceState? = nil) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
        self.state = state
    }

    /// Reads the fields of a request.
    ///
    /// A `traceparent` that is malformed, or there more than once, counts as none, and then so does `tracestate`; a
    /// malformed `tracestate` leaves `traceparent` as it is (§3.2.2, §3.3.1.3).
    package convenience init?(_ fields: HTTPFields) {
        let parents = fields[values: .traceparent]
        guard let parent = parents.first, parents.count == 1 else { return nil }
        self.init(parent: parent, states: fields[values: .tracestate])
    }

    /// - Parameters:
    ///   - parent: The value of `traceparent`.
    ///   - states: The values of `tracestate`.
    package convenience init?(parent: String, states: [String]) {
        let bytes = Array(parent.utf8)
        guard bytes.count >= 55, let version = Self.number(bytes[0..<2]), version != 0xFF else { return nil }
        // What a later version has behind these parts is not known here (§4.3).
        guard version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == Self.dash else { return nil }
        guard bytes[2] == Self.dash, bytes[35] == Self.dash, bytes[52] == Self.dash,
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let trace = TraceID(high: high, low: low),
            let span = Self.number(bytes[36..<52]).flatMap({ SpanID($0) }), let flags = Self.number(bytes[53..<55])
        else { return nil }
        // Of the flags only the first has a meaning; the others are not passed on.
        self.init(trace: trace, span: span, isSampled: flags & 1 == 1, state: TraceState(states))
    }

    private static let dash = UInt8(ascii: "-")

    /// Digits in lower case alone are allowed.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }

    /// The value of `traceparent`.
    package var parent: String { "00-\(trace)-\(span)-0\(isSampled ? 1 : 0)" }

    /// Puts the fields into a request, in place of those that it has.
    package func write(to fields: inout HTTPFields) {
        fields[.lowerTraceparent] = parent
        fields[.lowerTracestate] = state?.text
    }

    /// The same trace at another span.
    package func at(_ span: SpanID) -> TraceContext {
        TraceContext(trace: trace, span: span, isSampled: isSampled, state: state)
    }
}

extension TraceContext: Equatable {
    package static func == (left: TraceContext, right: TraceContext) -> Bool {
        left === right
            || (left.trace, left.span, left.isSampled, left.state)
                == (right.trace, right.span, right.isSampled, right.state)
    }
}

// As it is stored with a job.
extension TraceContext {
    convenience init?(reader: JSONReader) {
        guard let object = reader.object(of: ["traceparent", "tracestate"]),
            let parent = object.required("traceparent")?.string(maximumLength: 55)
        else { return nil }
        let state = object["tracestate"]?.string(maximumLength: TraceState.maximumBytes)
        self.init(parent: parent, states: state.map { [$0] } ?? [])
    }

    /// Reads what is stored with a job; nil when it is none.
    package convenience init?(stored json: RawJSON) {
        guard let value = try? JSONParser.parse(json.bytes) else { return nil }
        self.init(reader: JSONReader(value, check: InputCheck()))
    }

    func write(_ writer: inout JSONWriter) {
        writer.member("traceparent", parent)
        writer.member("tracestate", state?.text)
    }
}

extension HTTPField.Name {
    // In lower case, as they are to be sent (§3.2.1, §3.3.1).
    fileprivate static let lowerTraceparent = Self("traceparent") ?? .traceparent
    fileprivate static let lowerTracestate = Self("tracestate") ?? .tracestate
}
