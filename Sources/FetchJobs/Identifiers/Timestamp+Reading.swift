extension Timestamp {
    /// The time that a text in the form of RFC 3339 names, such as `2026-11-21T10:52:00.125Z`, to the microsecond.
    package init?(rfc3339 text: String) {
        var parts = Parts(text)
        guard let year = parts.number(4), parts.take("-"), let month = parts.number(2), parts.take("-"),
            let day = parts.number(2), parts.take("T") || parts.take("t"), let hour = parts.number(2), parts.take(":"),
            let minute = parts.number(2), parts.take(":"), let second = parts.number(2),
            let microseconds = parts.microseconds(), let offset = parts.offset(), parts.isAtEnd,
            (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day), hour < 24, minute < 60,
            // A leap second counts as the one after it.
            second <= 60
        else { return nil }
        let seconds = ((Self.days(before: year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset
        self.init(microseconds: seconds * 1_000_000 + microseconds)
    }

    /// Reads the parts of a time one after the other: each job and page has many times, and a pattern takes long for one.
    private struct Parts {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        /// Takes a character; false when another one stands there.
        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func digit() -> Int64? {
            guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            rest.removeFirst()
            return Int64(byte - UInt8(ascii: "0"))
        }

        /// A number of so many digits.
        mutating func number(_ count: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        /// The fraction of a second, of one to nine digits; zero when there is none.
        mutating func microseconds() -> Int64? {
            guard take(".") else { return 0 }
            var (number, count): (Int64, Int) = (0, 0)
            while let digit = digit() {
                count += 1
                if count <= 6 { number = number * 10 + digit }
            }
            guard (1...9).contains(count) else { return nil }
            for _ in min(count, 6)..<6 { number *= 10 }
            return number
        }

        /// How many seconds the zone is ahead of UTC.
        mutating func offset() -> Int64? {
            if take("Z") || take("z") { return 0 }
            let isAhead = take("+")
            guard isAhead || take("-"), let hours = number(2), take(":"), let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            return (isAhead ? 1 : -1) * (hours * 60 + minutes) * 60
        }
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar; years begin in March here, so that leap days end them.
    private static func days(before year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension JSONReader {
    /// A point in time in the form of RFC 3339.
    package func timestamp() -> Timestamp? {
        guard let text = string(maximumLength: 64) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            refuse("must be a time as RFC 3339 writes it, such as 2026-11-21T10:52:00Z")
            return nil
        }
        return time
    }
}
