import Glibc

/// A point in civil time, to the microsecond, counted from 1970-01-01T00:00:00Z.
///
/// Arithmetic stops at the ends of the range, some 292 000 years away, instead of trapping.
public struct UnixTime: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    public let microseconds: Int64

    /// Makes a time of microseconds since 1970.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Makes a time of seconds since 1970.
    public init(seconds: Int64) {
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        microseconds = overflows ? (seconds < 0 ? .min : .max) : product
    }

    /// The time of the system's clock.
    public static var now: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// Whole seconds since 1970, rounded down.
    public var seconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The time that much later.
    public func advanced(by duration: Duration) -> UnixTime {
        let (seconds, attoseconds) = duration.components
        let whole = UnixTime(seconds: seconds).microseconds
        let part = attoseconds / 1_000_000_000_000
        let (sum, overflows) = microseconds.addingReportingOverflow(whole)
        guard !overflows else { return UnixTime(microseconds: whole < 0 ? .min : .max) }
        let (total, overflowsNow) = sum.addingReportingOverflow(part)
        return UnixTime(microseconds: overflowsNow ? (part < 0 ? .min : .max) : total)
    }

    /// Earlier before later.
    public static func < (left: UnixTime, right: UnixTime) -> Bool { left.microseconds < right.microseconds }
}
