package import HTTPTypes

/// Which bytes of a representation a `Range` field asks for (RFC 9110 §14).
package enum ByteRange: Equatable, Sendable {
    /// No range that is understood was asked for; several in one field are not.
    case whole
    case part(Range<Int64>)
    /// It lies behind the end.
    case unsatisfiable

    /// - Parameters:
    ///   - values: The values of all `Range` fields. Anything but one range of bytes in right form is ignored (§14.2).
    ///   - length: How many bytes there are.
    package init(_ values: [String], length: Int64) {
        switch Self.specifier(values) {
        case nil: self = .whole
        case .suffix(let count):
            self = count > 0 && length > 0 ? .part(max(0, length - count)..<length) : .unsatisfiable
        case .bytes(let first, let last):
            self = first < length ? .part(first..<min((last ?? .max - 1) + 1, length)) : .unsatisfiable
        }
    }

    package var status: HTTPResponse.Status {
        switch self {
        case .whole: .ok
        case .part: .partialContent
        case .unsatisfiable: .rangeNotSatisfiable
        }
    }

    package func bytes(of length: Int64) -> Range<Int64> {
        switch self {
        case .whole: 0..<length
        case .part(let range): range
        case .unsatisfiable: 0..<0
        }
    }

    /// The value of `Content-Range` in the answer; nil for the whole (RFC 9110 §14.4).
    package func contentRange(of length: Int64) -> String? {
        switch self {
        case .whole: nil
        case .part(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        case .unsatisfiable: "bytes */\(length)"
        }
    }

    /// The value of a `Range` field that asks for these bytes, or for all from an offset on.
    package static func field(_ range: Range<Int64>) -> String { "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }

    package static func field(from offset: Int64) -> String { "bytes=\(offset)-" }

    /// One range as the field writes it (RFC 9110 §14.1.2).
    enum Specifier: Equatable {
        /// From a first byte to a last one, or to the end.
        case bytes(from: Int64, through: Int64?)
        /// So many at the end.
        case suffix(Int64)
    }

    /// Reads the values of all `Range` fields; nil for anything but one range of bytes in right form.
    static func specifier(_ values: [String]) -> Specifier? {
        guard values.count == 1, values[0].prefix(6).lowercased() == "bytes=" else { return nil }
        let ends = values[0].dropFirst(6).trimmed.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (number(ends[0]), number(ends[1])) {
        case (nil, let count?) where ends[0].isEmpty: return .suffix(count)
        case (let first?, nil) where ends[1].isEmpty: return .bytes(from: first, through: nil)
        case (let first?, let last?) where first <= last: return .bytes(from: first, through: last)
        default: return nil
        }
    }

    /// Digits; more of them than a number holds are as good as the greatest that has a successor.
    private static func number(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return min(Int64(digits) ?? .max, .max - 1)
    }
}
