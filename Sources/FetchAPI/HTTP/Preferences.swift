import HTTPTypes

/// The preferences of a client (RFC 7240) that the service knows.
///
/// Preferences that are unknown or malformed are as if they were not there (§2).
struct Preferences: Sendable, Equatable {
    static let maximumWait = 60

    /// Seconds to hold the answer for, at most ``maximumWait``.
    private(set) var wait: Int?
    private(set) var respondsAsynchronously = false

    init(of fields: HTTPFields) {
        for field in fields[values: .prefer] {
            for preference in field.split(separator: ",") {
                let parts = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                    .map { $0.trimmingPrefix(while: \.isWhitespace).prefix { !$0.isWhitespace } }
                // The first of several of one name counts.
                switch (parts.first?.lowercased(), parts.count) {
                case ("wait", 2) where wait == nil: wait = Self.seconds(parts[1])
                case ("respond-async", 1): respondsAsynchronously = true
                default: break
                }
            }
        }
    }

    private static func seconds(_ text: Substring) -> Int? {
        let digits = text.hasPrefix("\"") ? text.dropFirst().dropLast() : text
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        // More digits than an Int holds are more than a minute too.
        return min(Int(digits) ?? maximumWait, maximumWait)
    }

    /// The value of `Preference-Applied`, or nil when nothing was preferred.
    var applied: String? {
        if let wait { return "wait=\(wait)" }
        return respondsAsynchronously ? "respond-async" : nil
    }
}
