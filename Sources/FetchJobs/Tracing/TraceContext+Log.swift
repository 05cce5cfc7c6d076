extension Dictionary where Key == String, Value: ExpressibleByStringLiteral, Value.StringLiteralType == String {
    /// Adds the place in a trace to the metadata of a line of the log, by the names that OpenTelemetry has for logs of
    /// other formats; nothing when there is no trace.
    package mutating func trace(_ context: TraceContext?) {
        guard let context else { return }
        self["trace_id"] = Value(stringLiteral: context.trace.description)
        self["span_id"] = Value(stringLiteral: context.span.description)
    }
}
