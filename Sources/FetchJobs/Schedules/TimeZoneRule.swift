/// The rule of a time zone for all years, as the variable `TZ` of POSIX has it (XBD 8.3; RFC 9636 §3.3.1).
///
/// `CET-1CEST,M3.5.0,M10.5.0/3` is an hour ahead of UTC, and two from the last Sunday of March at 2:00 until the last of
/// October at 3:00.
struct TimeZoneRule: Sendable {
    /// Seconds ahead of UTC.
    private let standard: Int32
    private let summer: Summer?

    private struct Summer {
        /// Seconds ahead of UTC.
        let offset: Int32
        let start: YearlyTime
        let end: YearlyTime
    }

    init?(_ text: ArraySlice<UInt8>) {
        var reader = RuleReader(rest: text)
        guard reader.skipName(), let behind = reader.seconds(hours: 24) else { return nil }
        standard = -behind
        guard !reader.isAtEnd else {
            summer = nil
            return
        }
        guard reader.skipName() else { return nil }
        var offset = standard + 3600
        if !reader.isAt(",") {
            guard let behind = reader.seconds(hours: 24) else { return nil }
            offset = -behind
        }
        guard let start = reader.yearlyTime(), let end = reader.yearlyTime(), reader.isAtEnd else { return nil }
        summer = Summer(offset: offset, start: start, end: end)
    }

    func offset(at time: Int64) -> Int32 {
        guard let summer else { return standard }
        let year = CivilDay(secondsSince1970: time + Int64(standard)).year
        let start = summer.start.seconds(in: year) - Int64(standard)
        let end = summer.end.seconds(in: year) - Int64(summer.offset)
        // South of the equator the year begins and ends in summer.
        let isSummer = start < end ? start <= time && time < end : !(end <= time && time < start)
        return isSummer ? summer.offset : standard
    }
}

/// A time that comes once a year.
private struct YearlyTime {
    enum Day {
        /// 1 to 365; 29 February is never counted.
        case ofYearWithoutLeapDay(Int64)
        /// 0 to 365.
        case ofYear(Int64)
        /// 0 is Sunday; the fifth week is the last.
        case weekday(Int64, week: Int64, month: Int64)
    }

    let day: Day
    /// Seconds after midnight, which may be of another day.
    let time: Int32

    /// By the clock, in seconds since 1970 if it were UTC.
    func seconds(in year: Int64) -> Int64 { dayNumber(in: year) * 86_400 + Int64(time) }

    private func dayNumber(in year: Int64) -> Int64 {
        switch day {
        case .ofYear(let day): return CivilDay.number(year: year, month: 1, day: 1) + day
        case .ofYearWithoutLeapDay(let day):
            let march = CivilDay.number(year: year, month: 3, day: 1)
            // 1 March is the 60th.
            return day < 60 ? CivilDay.number(year: year, month: 1, day: 1) + day - 1 : march + day - 60
        case .weekday(let weekday, let week, let month):
            let first = CivilDay.number(year: year, month: month, day: 1)
            let day = first + (weekday - Int64(CivilDay(first).weekday) + 7) % 7 + (week - 1) * 7
            let next = CivilDay.number(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
            return day < next ? day : day - 7
        }
    }
}

private struct RuleReader {
    var rest: ArraySlice<UInt8>

    var isAtEnd: Bool { rest.isEmpty }

    func isAt(_ character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// An abbreviation: letters, or anything between `<` and `>`.
    mutating func skipName() -> Bool {
        if skip("<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
            rest = rest[(end + 1)...]
            return true
        }
        let name = rest.prefix { 0x41...0x5A ~= $0 & 0xDF }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    private mutating func number(in range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix { 0x30...0x39 ~= $0 }
        guard !digits.isEmpty, digits.count <= 3 else { return nil }
        rest = rest.dropFirst(digits.count)
        let value = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        return range.contains(value) ? value : nil
    }

    /// `hh[:mm[:ss]]`, with a sign or without.
    mutating func seconds(hours: Int64) -> Int32? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard var value = number(in: 0...hours) else { return nil }
        value *= 3600
        for unit: Int64 in [60, 1] where skip(":") {
            guard let part = number(in: 0...59) else { return nil }
            value += part * unit
        }
        return Int32(isNegative ? -value : value)
    }

    /// `,Jn`, `,n` or `,Mm.w.d`, with `/time` or without, which is up to a week before or after (RFC 9636 §3.3.1).
    mutating func yearlyTime() -> YearlyTime? {
        guard skip(","), let day = day() else { return nil }
        guard skip("/") else { return YearlyTime(day: day, time: 2 * 3600) }
        return seconds(hours: 167).map { YearlyTime(day: day, time: $0) }
    }

    private mutating func day() -> YearlyTime.Day? {
        if skip("J") { return number(in: 1...365).map { .ofYearWithoutLeapDay($0) } }
        guard skip("M") else { return number(in: 0...365).map { .ofYear($0) } }
        guard let month = number(in: 1...12), skip("."), let week = number(in: 1...5), skip("."),
            let weekday = number(in: 0...6)
        else { return nil }
        return .weekday(weekday, week: week, month: month)
    }
}
