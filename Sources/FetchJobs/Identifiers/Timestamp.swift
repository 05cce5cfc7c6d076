import Glibc

/// A point in time, to the microsecond, as PostgreSQL's `timestamptz` keeps it.
package struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Microseconds since 1970-01-01T00:00:00Z.
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    package var seconds: Int64 { microseconds / 1_000_000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(microseconds: microseconds + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    /// RFC 3339 in UTC, to the microsecond, for a time that is compared when it comes back:
    /// `2026-11-21T10:52:00.125048Z`.
    package var exact: String {
        var text = description
        text.removeLast()
        let rest = microseconds % 1000
        text.append(padded: Int(rest < 0 ? rest + 1000 : rest), to: 3)
        return text + "Z"
    }

    /// RFC 3339 in UTC, with milliseconds: `2026-11-21T10:52:00.125Z`.
    package var description: String {
        let milliseconds = Self.divided(Self.divided(microseconds).quotient)
        var time = time_t(milliseconds.quotient)
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = ""
        text.reserveCapacity(24)
        text.append(padded: Int(parts.tm_year) + 1900, to: 4)
        text.append("-")
        text.append(padded: Int(parts.tm_mon) + 1, to: 2)
        text.append("-")
        text.append(padded: Int(parts.tm_mday), to: 2)
        text.append("T")
        text.append(padded: Int(parts.tm_hour), to: 2)
        text.append(":")
        text.append(padded: Int(parts.tm_min), to: 2)
        text.append(":")
        text.append(padded: Int(parts.tm_sec), to: 2)
        text.append(".")
        text.append(padded: Int(milliseconds.remainder), to: 3)
        text.append("Z")
        return text
    }

    /// Divides by a thousand, downwards: a time before 1970 has its fraction after the second too.
    private static func divided(_ value: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? (quotient - 1, remainder + 1000) : (quotient, remainder)
    }
}

extension String {
    fileprivate mutating func append(padded value: Int, to width: Int) {
        let digits = String(value)
        for _ in 0..<max(0, width - digits.utf8.count) { append("0") }
        append(digits)
    }
}
