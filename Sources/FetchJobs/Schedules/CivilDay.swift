/// A day of the Gregorian calendar.
struct CivilDay {
    let year: Int64
    let month: Int
    let day: Int
    /// 0 is Sunday.
    let weekday: Int

    /// - Parameter number: Counts from 1970-01-01.
    init(_ number: Int64) {
        // Years begin in March here, so that leap days end them.
        let (era, dayOfEra) = (number + 719_468).quotientAndModulus(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shifted + 2) / 5 + 1)
        month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        weekday = Int((number + 4).quotientAndModulus(by: 7).modulus)
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    init(secondsSince1970 seconds: Int64) { self.init(seconds.quotientAndModulus(by: 86_400).quotient) }

    /// The days from 1970-01-01 to a date.
    static func number(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.quotientAndModulus(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    /// Divided downwards, so that the remainder is never negative.
    func quotientAndModulus(by divisor: Int64) -> (quotient: Int64, modulus: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
