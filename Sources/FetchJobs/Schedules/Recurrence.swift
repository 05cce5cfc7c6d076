/// By which rule a schedule's times follow each other.
package enum Recurrence: Sendable, Equatable {
    case cron(CronExpression, TimeZone)
    /// Every so many seconds.
    case interval(Int64)

    package static let intervals: ClosedRange<Int64> = 1...31_622_400

    /// The first time after another one.
    ///
    /// - Parameter start: The time from which intervals are counted.
    func next(after time: Timestamp, countedFrom start: Timestamp) -> Timestamp? {
        let second = time.wholeSecond.seconds
        switch self {
        case .cron(let expression, let zone):
            return expression.next(after: second, in: zone).map { Timestamp(microseconds: $0 * 1_000_000) }
        case .interval(let interval):
            let step = interval * 1_000_000
            guard time >= start else { return start }
            let count = (time.microseconds - start.microseconds) / step + 1
            return Timestamp(microseconds: start.microseconds + count * step)
        }
    }
}

extension Timestamp {
    /// The second that it is in.
    var wholeSecond: Timestamp {
        let remainder = microseconds % 1_000_000
        return Timestamp(microseconds: microseconds - (remainder < 0 ? remainder + 1_000_000 : remainder))
    }
}

extension JSONReader {
    /// An expression of cron.
    func cronExpression() -> CronExpression? {
        guard let text = string(maximumLength: 256) else { return nil }
        do throws(CronExpression.Refusal) {
            return try CronExpression(text)
        } catch {
            refuse(error.message)
            return nil
        }
    }

    /// A time zone by its name in the IANA database.
    func timeZone() -> TimeZone? {
        guard let name = string(maximumLength: 64) else { return nil }
        guard let zone = TimeZone(named: name) else {
            refuse("must be the name of a time zone in the IANA database, such as Europe/Berlin, or UTC")
            return nil
        }
        return zone
    }
}
