/// A date and time of the Gregorian calendar in UTC, as protocols write them.
struct CivilDate: Equatable {
    var year: Int
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    var second = 0

    /// The point in time, or `nil` when the calendar has no such date.
    ///
    /// Years from 1601 to 9999 are known; there are no leap seconds.
    var time: UnixTime? {
        guard (1601...9999).contains(year), (1...12).contains(month), (1...daysInMonth).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        return UnixTime(seconds: Int64(daysSinceEpoch * 86400 + hour * 3600 + minute * 60 + second))
    }

    private var isLeapYear: Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private var daysInMonth: Int {
        switch month {
        case 2: isLeapYear ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01, counted in years that begin in March so that the leap day comes last.
    private var daysSinceEpoch: Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The number of a month by the first three letters of its English name in any case.
    static func month(named letters: ArraySlice<UInt8>) -> Int? {
        guard letters.count >= 3 else { return nil }
        let name = letters.prefix(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1.asciiLowercased) }
        return monthNames.firstIndex(of: name).map { $0 + 1 }
    }

    private static let monthNames = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { $0.utf8.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
}
