import HTTPTypes

/// The part of a file that a `Range` field asks for (RFC 9110 §14).
enum ByteRange: Equatable {
    /// No range that is understood was asked for; several in one field are not.
    case whole
    case part(Range<Int64>)
    /// It lies behind the end.
    case unsatisfiable

    init(_ values: [String], length: Int64) {
        self = values.count == 1 ? Self.parse(values[0], length: length) : .whole
    }

    var status: HTTPResponse.Status {
        switch self {
        case .whole: .ok
        case .part: .partialContent
        case .unsatisfiable: .rangeNotSatisfiable
        }
    }

    func bytes(of length: Int64) -> Range<Int64> {
        switch self {
        case .whole: 0..<length
        case .part(let range): range
        case .unsatisfiable: 0..<0
        }
    }

    func contentRange(of length: Int64) -> String? {
        switch self {
        case .whole: nil
        case .part(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        case .unsatisfiable: "bytes */\(length)"
        }
    }

    private static func parse(_ value: String, length: Int64) -> Self {
        guard value.prefix(6).lowercased() == "bytes=" else { return .whole }
        let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return .whole }
        let (first, last) = (HeadCollector.number(ends[0].utf8), HeadCollector.number(ends[1].utf8))
        switch (first, last) {
        case (nil, let count?) where ends[0].isEmpty:
            return count > 0 && length > 0 ? .part(max(0, length - count)..<length) : .unsatisfiable
        case (let first?, nil) where ends[1].isEmpty:
            return first < length ? .part(first..<length) : .unsatisfiable
        case (let first?, let last?) where first <= last:
            return first < length ? .part(first..<min(last + 1, length)) : .unsatisfiable
        default: return .whole
        }
    }
}
