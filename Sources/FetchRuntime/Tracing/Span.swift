package import FetchJobs

/// What happened in a part of a trace, once it is over.
package struct Span: Sendable {
    /// The role of the span, by the numbers of OpenTelemetry's protocol.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        /// The answer to a request.
        case server
        /// A request.
        case client
        /// A message to somebody who does not answer it.
        case producer
    }

    package enum Value: Sendable, Equatable {
        case text(String)
        case number(Int64)
        case bool(Bool)
    }

    /// A point in time within a span.
    package struct Event: Sendable {
        package let name: String
        package let time: Timestamp

        package init(_ name: String, at time: Timestamp) {
            self.name = name
            self.time = time
        }
    }

    /// The span itself, in its trace.
    package let context: TraceContext
    /// The span that it is a part of; nil for the first one of its trace.
    package let parent: SpanID?
    /// Whether that span is another program's.
    package let hasRemoteParent: Bool
    package let name: String
    package let kind: Kind
    package let start: Timestamp
    package let end: Timestamp
    /// Names are those of OpenTelemetry's semantic conventions, and below `fetchd.` our own.
    package var attributes: [(name: String, value: Value)] = []
    package var events: [Event] = []
    /// Why it counts as failed, in a word; nil when it does not.
    package var error: String?

    package init(
        _ name: String, _ kind: Kind, _ context: TraceContext, parent: SpanID?, hasRemoteParent: Bool = false,
        from start: Timestamp, to end: Timestamp
    ) {
        self.name = name
        self.kind = kind
        self.context = context
        self.parent = parent
        self.hasRemoteParent = hasRemoteParent
        self.start = start
        // A clock may be set back meanwhile.
        self.end = max(start, end)
    }

    /// Adds an attribute, unless its value is nil.
    package mutating func set(_ name: String, _ value: String?) {
        if let value { attributes.append((name, .text(value))) }
    }

    package mutating func set(_ name: String, _ value: (some BinaryInteger)?) {
        if let value { attributes.append((name, .number(Int64(clamping: value)))) }
    }

    package mutating func set(_ name: String, _ value: Bool) { attributes.append((name, .bool(value))) }

    /// It failed, for a reason in a word of a closed set.
    package mutating func fail(_ reason: String) {
        error = reason
        set("error.type", reason)
    }
}
