/// The date of an `Expires` attribute, read as user agents read it (RFC 6265 §5.1.1).
///
/// The servers' dates come in so many shapes that the rule is to look for a time, a day, a month and a year among
/// the words, and to ignore the others.
enum CookieDate {
    /// The point in time, or `nil` when a part is missing or the calendar has no such date.
    static func parse(_ bytes: ArraySlice<UInt8>) -> UnixTime? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in bytes.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clockTime(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = CivilDate.month(named: token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, let year else { return nil }
        return CivilDate(
            year: completed(year), month: month, day: day, hour: time.hour, minute: time.minute, second: time.second
        ).time
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Two digits mean the years from 1970 to 2069.
    private static func completed(_ year: Int) -> Int {
        switch year {
        case 0...69: year + 2000
        case 70...99: year + 1900
        default: year
        }
    }

    /// The number a token starts with, when it has so many digits and no more.
    private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix(while: \.isASCIIDigit)
        guard digits.contains(leading.count) else { return nil }
        return leading.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Three numbers of one or two digits between colons; other text may follow the last.
    private static func clockTime(_ token: ArraySlice<UInt8>) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isASCIIDigit), parts[1].allSatisfy(\.isASCIIDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }
}
