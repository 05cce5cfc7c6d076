import FetchEngine

/// The `tracestate` of a trace: what tracing systems have added to it, newest first (W3C Trace Context §3.3).
///
/// It is carried as it came; we add nothing of our own.
package struct TraceState: Sendable, Hashable {
    /// As many bytes as others have to carry; what is stored with a job stays small.
    package static let maximumBytes = 512
    private static let maximumMembers = 32

    /// As it is sent: members with a comma between them, no white space around them.
    package let text: String

    /// Reads fields of the name, of which there may be several.
    ///
    /// White space around members and empty members are left out, and so is a key's second member. Of a list that is
    /// longer than ``maximumBytes`` the longest members are left out first, those of more than 128 bytes, then the last
    /// (§3.3.1.5).
    ///
    /// - Returns: nil when nothing is left, when there are more than 32 members, and when one breaks the grammar: then
    ///   none can be trusted (§3.3.1.3).
    package init?(_ fields: [String]) {
        var members: [Substring] = []
        var keys: Set<Substring> = []
        for field in fields {
            for part in field.split(separator: ",") {
                let member = part.trimmed
                guard !member.isEmpty else { continue }
                guard let end = member.utf8.firstIndex(of: UInt8(ascii: "=")),
                    Self.isKey(member[..<end].utf8), Self.isValue(member[end...].dropFirst().utf8)
                else { return nil }
                if keys.insert(member[..<end]).inserted { members.append(member) }
            }
        }
        guard members.count <= Self.maximumMembers else { return nil }
        while !members.isEmpty, Self.length(of: members) > Self.maximumBytes {
            members.remove(at: members.lastIndex { $0.utf8.count > 128 } ?? members.count - 1)
        }
        guard !members.isEmpty else { return nil }
        text = members.joined(separator: ",")
    }

    private static func length(of members: [Substring]) -> Int {
        members.reduce(members.count - 1) { $0 + $1.utf8.count }
    }

    /// A word, or the name of a tenant at that of a system (§3.3.1.3.1).
    private static func isKey(_ key: Substring.UTF8View) -> Bool {
        let parts = key.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return parts.count == 1 && isWord(key, maximum: 256) }
        return isWord(parts[0], maximum: 241, mayBeginWithDigit: true) && isWord(parts[1], maximum: 14)
    }

    private static func isWord(
        _ word: Substring.UTF8View, maximum: Int, mayBeginWithDigit: Bool = false
    ) -> Bool {
        guard (1...maximum).contains(word.count), let first = word.first else { return false }
        guard isLetter(first) || mayBeginWithDigit && isDigit(first) else { return false }
        return word.allSatisfy { isLetter($0) || isDigit($0) || "_-*/".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// Printable ASCII without commas and equals signs; spaces were taken from its end (§3.3.1.3.2).
    private static func isValue(_ value: Substring.UTF8View) -> Bool {
        (1...256).contains(value.count)
            && value.allSatisfy { 0x20...0x7E ~= $0 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
    }
}
