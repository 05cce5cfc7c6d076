/// Which bytes of a representation a `Range` field asks for (RFC 9110 §14).
enum ByteRange: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// - Parameters:
    ///   - field: The field's value. Anything but one range of bytes in right form is ignored (§14.2).
    ///   - size: How many bytes there are.
    init(field: String?, size: Int64) {
        self = .whole
        guard let field, field.lowercased().hasPrefix("bytes=") else { return }
        let set = field.dropFirst(6).trimmingPrefix(while: \.isWhitespace)
        let parts = set.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !set.contains(",") else { return }
        let (first, last) = (parts[0], parts[1].prefix { !$0.isWhitespace })
        guard let from = Self.number(first) else {
            guard first.isEmpty, let length = Self.number(last) else { return }
            self = length == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - length)..<size)
            return
        }
        guard let to = last.isEmpty ? Int64.max - 1 : Self.number(last), from <= to else { return }
        self = from >= size ? .unsatisfiable : .part(from..<min(size, to + 1))
    }

    /// Digits; more of them than a number holds are as good as the greatest.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int64(text) ?? Int64.max, Int64.max - 1)
    }
}
