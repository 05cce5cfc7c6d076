/// The date format of HTTP fields (RFC 9110 §5.6.7).
enum HTTPDate {
    /// Reads any of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`.
    ///
    /// Nil for anything else, which includes every time zone but GMT: caches take an expiry date they cannot read for
    /// one that has passed, so this is stricter than libcurl's reading of dates. A year of two digits that would lie
    /// more than 50 years ahead of `now` is one of the past.
    static func time(_ text: some StringProtocol, now: UnixTime) -> UnixTime? {
        let words = Array(text.utf8).split { separators.contains($0) }
        if words.count == 5, let month = CivilDate.month(named: words[1]) {
            return time(year: number(words[4], digits: 4...4), month: month, day: words[2], clock: words[3])
        }
        guard words.count == 6, words[5].elementsEqual("GMT".utf8), let month = CivilDate.month(named: words[2]) else {
            return nil
        }
        let year =
            words[3].count == 2
            ? number(words[3], digits: 2...2).map { fullYear($0, now: now) } : number(words[3], digits: 4...4)
        return time(year: year, month: month, day: words[1], clock: words[4])
    }

    /// Whether a text has exactly one of the three forms.
    ///
    /// An expiry date of another form counts as one that has passed (RFC 9111 §5.3); in other dates a second space does
    /// not matter.
    static func isExact(_ text: some StringProtocol) -> Bool {
        let shape = text.utf8.drop { isLetter($0) }.map { byte -> UInt8 in
            isLetter(byte) ? UInt8(ascii: "a") : (0x30...0x39).contains(byte) ? UInt8(ascii: "d") : byte
        }
        return shapes.contains { shape.elementsEqual($0.utf8) }
    }

    /// The part after the day of the week.
    private static let shapes = [
        ", dd aaa dddd dd:dd:dd aaa", ", dd-aaa-dd dd:dd:dd aaa", " aaa dd dd:dd:dd dddd", " aaa  d dd:dd:dd dddd",
    ]

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static let separators = Array(" \t,-".utf8)

    private static func time(year: Int?, month: Int, day: ArraySlice<UInt8>, clock: ArraySlice<UInt8>) -> UnixTime? {
        let parts = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard let year, let day = number(day, digits: 1...2), parts.count == 3,
            let hour = number(parts[0], digits: 2...2), let minute = number(parts[1], digits: 2...2),
            let second = number(parts[2], digits: 2...2)
        else { return nil }
        // A leap second is the one before it for us.
        return CivilDate(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second == 60 ? 59 : second
        ).time
    }

    private static func number(_ bytes: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(bytes.count), bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func fullYear(_ year: Int, now: UnixTime) -> Int {
        // Mean years are exact enough for a window of a century.
        let thisYear = 1970 + Int(now.seconds / 31_556_952)
        let candidate = thisYear / 100 * 100 + year
        return candidate > thisYear + 50 ? candidate - 100 : candidate
    }
}

extension UnixTime {
    /// How much later this time is than another; negative when it is earlier.
    func duration(since other: UnixTime) -> Duration { .microseconds(microseconds) - .microseconds(other.microseconds) }
}
