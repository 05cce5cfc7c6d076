/// A `Content-Type` value: type, subtype and the charset parameter (RFC 9110 §8.3).
struct MediaType: Equatable {
    /// `type/subtype` in lower case.
    let essence: String
    /// The charset parameter as it was written, without quotes.
    let charset: String?

    /// Reads a field value; `nil` when it has no `type/subtype`.
    init?(_ value: String) {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        let essence = MediaType.trimmed(parts[0]).lowercased()
        let halves = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else { return nil }
        self.essence = essence
        charset = parts.dropFirst().lazy.compactMap(MediaType.charset).first
    }

    private static func charset(_ parameter: Substring) -> String? {
        let halves = parameter.split(separator: "=", maxSplits: 1)
        guard halves.count == 2, trimmed(halves[0]).lowercased() == "charset" else { return nil }
        var value = trimmed(halves[1])
        if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
        return value.isEmpty ? nil : String(value)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }
}
