import Synchronization

/// A time zone of the IANA database, as the machine has it in `/usr/share/zoneinfo`.
///
/// That of Foundation needs ICU, which is not in the binary (docs/adr/0019-foundation-essentials.md), and learns of new
/// rules with the next build instead of with the next update of the machine.
package struct TimeZone: Sendable {
    /// Its name in the database, such as `Europe/Berlin`, or `UTC`.
    package let name: String
    private let transitions: TimeZoneTransitions

    /// Where the machine has the database.
    package static let directory = "/usr/share/zoneinfo"

    package static let utc = TimeZone(name: "UTC", transitions: TimeZoneTransitions(offset: 0))

    /// The zone of a name; nil where the machine has none.
    ///
    /// Abbreviations and offsets name no zone: "EST" has no summer time, and "IST" is three zones.
    package init?(named name: String) {
        if name == Self.utc.name {
            self = .utc
            return
        }
        guard let transitions = ZoneFiles.shared.transitions(of: name) else { return nil }
        self.init(name: name, transitions: transitions)
    }

    private init(name: String, transitions: TimeZoneTransitions) {
        self.name = name
        self.transitions = transitions
    }

    /// Seconds that its clock is ahead of UTC at a time in seconds since 1970.
    func offset(at time: Int64) -> Int64 { Int64(transitions.offset(at: time)) }
}

extension TimeZone: Equatable {
    package static func == (left: TimeZone, right: TimeZone) -> Bool { left.name == right.name }
}

/// What has been read of the database, of which there are some hundred files of one or two kilobytes.
private final class ZoneFiles: Sendable {
    static let shared = ZoneFiles()

    /// Several times the longest.
    private static let maximumBytes = 64 << 10

    private let known = Mutex<[String: TimeZoneTransitions]>([:])

    func transitions(of name: String) -> TimeZoneTransitions? {
        guard Self.isName(name) else { return nil }
        if let transitions = known.withLock({ $0[name] }) { return transitions }
        guard let bytes = try? FileContents.bytes(of: "\(TimeZone.directory)/\(name)", limit: Self.maximumBytes),
            let transitions = TimeZoneTransitions(tzif: bytes)
        else { return nil }
        known.withLock { $0[name] = transitions }
        return transitions
    }

    /// Whether it can be a name of the database, which has no dots, and beside which two directories have all zones once
    /// more, one of them with leap seconds.
    private static func isName(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let area = parts.first, parts.count > 1 else { return false }
        return !["posix", "right"].contains { $0.utf8.elementsEqual(area) }
            && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isPartOfName) }
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
