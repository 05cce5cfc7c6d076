/// A `Content-Range` field in bytes (RFC 9110 §14.4).
struct ContentRange: Equatable {
    /// First and last byte; nil in a 416 response.
    let range: ClosedRange<Int64>?
    /// The whole length; nil for `*`.
    let total: Int64?

    /// Reads a field value; nil when it has another unit, breaks the grammar or contradicts itself.
    init?(_ value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        total = Self.number(halves[1])
        guard total != nil || halves[1] == "*" else { return nil }
        guard halves[0] != "*" else {
            guard total != nil else { return nil }
            range = nil
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            total.map({ last < $0 }) ?? true
        else { return nil }
        range = first...last
    }

    private static func number(_ digits: Substring) -> Int64? { HeadCollector.number(digits.utf8) }
}
