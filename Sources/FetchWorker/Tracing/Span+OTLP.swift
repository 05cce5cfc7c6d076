// Spans in the JSON form of OpenTelemetry's protocol (OTLP 1.x, "JSON Protobuf Encoding"): ids are hexadecimal, numbers
// of 64 bits are texts, enumerations are numbers.

import FetchJobs
import FetchRuntime

extension Span {
    /// The W3C flag for a sampled trace, and those that tell whether the parent is another program's.
    private static let (sampled, knowsRemote, isRemote) = (0x001, 0x100, 0x200)
    /// `STATUS_CODE_ERROR`.
    private static let failed = 2

    /// The body of a request to export spans.
    ///
    /// - Parameters:
    ///   - resource: What says whose they are: pairs of names and texts.
    ///   - version: That of the program that has made them.
    static func export(_ spans: [Span], resource: [(String, String)], version: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member(
                "resourceSpans",
                array: { writer in
                    writer.object { writer in
                        writer.member(
                            "resource",
                            object: { writer in
                                writer.attributes(resource.map { (name: $0.0, value: .text($0.1)) })
                            })
                        writer.member(
                            "scopeSpans",
                            array: { writer in
                                writer.object { writer in
                                    writer.member(
                                        "scope",
                                        object: { writer in
                                            writer.member("name", "fetchd")
                                            writer.member("version", version)
                                        })
                                    writer.member("spans", array: { writer in spans.forEach { $0.write(&writer) } })
                                }
                            })
                    }
                })
        }
    }

    private func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("traceId", context.trace.description)
            writer.member("spanId", context.span.description)
            writer.member("traceState", context.state?.text)
            writer.member("parentSpanId", parent?.description)
            writer.member("flags", Self.sampled | Self.knowsRemote | (hasRemoteParent ? Self.isRemote : 0))
            writer.member("name", name)
            writer.member("kind", kind.rawValue)
            writer.member("startTimeUnixNano", start.nanoseconds)
            writer.member("endTimeUnixNano", end.nanoseconds)
            writer.attributes(attributes)
            if !events.isEmpty {
                writer.member(
                    "events",
                    array: { writer in
                        for event in events {
                            writer.object { writer in
                                writer.member("timeUnixNano", event.time.nanoseconds)
                                writer.member("name", event.name)
                            }
                        }
                    })
            }
            if let error {
                writer.member(
                    "status",
                    object: { writer in
                        writer.member("code", Self.failed)
                        writer.member("message", error)
                    })
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func attributes(_ attributes: [(name: String, value: Span.Value)]) {
        guard !attributes.isEmpty else { return }
        member(
            "attributes",
            array: { writer in
                for (name, value) in attributes {
                    writer.object { writer in
                        writer.member("key", name)
                        writer.member("value", object: value.write)
                    }
                }
            })
    }
}

extension Span.Value {
    fileprivate func write(_ writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.member("stringValue", text)
        case .number(let number): writer.member("intValue", String(number))
        case .bool(let bool): writer.member("boolValue", bool)
        }
    }
}

extension Timestamp {
    /// Since 1970, as a text.
    fileprivate var nanoseconds: String { String(max(0, microseconds)) + "000" }
}
