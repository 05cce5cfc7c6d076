/// A set of sizes of bodies: one, or those from one to another, both included.
package struct BodySizeFilter: Sendable, Equatable, CustomStringConvertible {
    package let range: ClosedRange<Int64>

    /// Reads `1000`, `1000..`, `..2000` or `1000..2000`.
    package init?(_ text: String) {
        // As the API describes it: two numbers of as many digits as there are, and what is between them.
        guard text.utf8.count <= 40 else { return nil }
        let parts = text.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = Self.bytes(parts[0], or: 0), let last = Self.bytes(parts.last ?? "", or: .max),
            first <= last, text.contains(where: \.isNumber)
        else { return nil }
        range = first...last
    }

    /// Digits alone; nothing stands for the other end of all sizes.
    private static func bytes(_ text: Substring, or end: Int64) -> Int64? {
        guard !text.isEmpty else { return end }
        return text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
    }

    package static let rule = "must be a number of bytes or a range of them, such as 1000.., ..2000 or 1000..2000"

    package var description: String {
        if range.lowerBound == range.upperBound { return "\(range.lowerBound)" }
        let first = range.lowerBound == 0 ? "" : "\(range.lowerBound)"
        return range.upperBound == .max ? "\(range.lowerBound).." : "\(first)..\(range.upperBound)"
    }
}
