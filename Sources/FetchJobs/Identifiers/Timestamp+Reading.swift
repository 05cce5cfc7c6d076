extension Timestamp {
    /// The time that a text in the form of RFC 3339 names, such as `2026-11-21T10:52:00.125Z`, to the microsecond.
    package init?(rfc3339 text: String) {
        let form = #/(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))/#
        guard let match = text.wholeMatch(of: form)?.output,
            let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3),
            let hour = Int64(match.4), let minute = Int64(match.5), let second = Int64(match.6),
            (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day), hour < 24, minute < 60,
            // A leap second counts as the one after it.
            second <= 60
        else { return nil }
        var seconds = ((Self.days(before: year, month, day) * 24 + hour) * 60 + minute) * 60 + second
        if let sign = match.8, let hours = match.9.flatMap({ Int64($0) }), let minutes = match.10.flatMap({ Int64($0) })
        {
            guard hours < 24, minutes < 60 else { return nil }
            seconds -= (sign == "-" ? -1 : 1) * (hours * 60 + minutes) * 60
        }
        let fraction = (match.7.map { String($0) } ?? "") + "000000"
        self.init(microseconds: seconds * 1_000_000 + (Int64(fraction.prefix(6)) ?? 0))
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
