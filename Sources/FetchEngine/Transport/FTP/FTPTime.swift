/// A file's date as `Last-Modified` tells it and `If-Range` gives it back: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum FTPTime {
    /// The text of a date.
    ///
    /// - Parameter seconds: Seconds since 1970; within the years that a server can name.
    static func text(_ seconds: Int64) -> String {
        let (day, second) = (floorDivide(seconds, 86400), Int(seconds - floorDivide(seconds, 86400) * 86400))
        // Years that begin in March, so that the leap day comes last.
        let shifted = Int(day) + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        let weekday = weekdays[Int((day % 7 + 11) % 7)]
        let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let date = "\(weekday), \(two(dayOfMonth)) \(months[month - 1]) \(year)"
        return "\(date) \(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }

    /// The seconds since 1970 of such a text; nil for any other.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: words[2]),
            let day = Int(words[1]), let year = Int(words[3]),
            case let clock = words[4].split(separator: ":").compactMap({ Int($0) }), clock.count == 3
        else { return nil }
        let time = CivilDate(
            year: year, month: month + 1, day: day, hour: clock[0], minute: clock[1], second: clock[2]
        ).time
        return time?.seconds
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : (number - divisor + 1) / divisor
    }
}
