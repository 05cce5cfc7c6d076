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
        let (milliseconds, microseconds) = Self.divided(microseconds)
        let (seconds, thousandths) = Self.divided(milliseconds)
        return Self.text(seconds, fraction: Int(thousandths * 1000 + microseconds), digits: 6)
    }

    /// RFC 3339 in UTC, with milliseconds: `2026-11-21T10:52:00.125Z`.
    package var description: String {
        let (seconds, thousandths) = Self.divided(Self.divided(microseconds).quotient)
        return Self.text(seconds, fraction: Int(thousandths), digits: 3)
    }

    /// - Parameter fraction: The part of the second, in as many digits.
    private static func text(_ seconds: Int64, fraction: Int, digits: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        let year = Int(parts.tm_year) + 1900
        // Every job has some of these.
        return String(unsafeUninitializedCapacity: 48) { bytes in
            var writer = DigitWriter(bytes)
            if year < 0 { writer.append("-") }
            writer.append(abs(year), digits: (-9999...9999).contains(year) ? 4 : abs(year).description.utf8.count, "-")
            writer.append(Int(parts.tm_mon) + 1, digits: 2, "-")
            writer.append(Int(parts.tm_mday), digits: 2, "T")
            writer.append(Int(parts.tm_hour), digits: 2, ":")
            writer.append(Int(parts.tm_min), digits: 2, ":")
            writer.append(Int(parts.tm_sec), digits: 2, ".")
            writer.append(fraction, digits: digits, "Z")
            return writer.count
        }
    }

    /// Divides by a thousand, downwards: a time before 1970 has its fraction after the second too.
    private static func divided(_ value: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? (quotient - 1, remainder + 1000) : (quotient, remainder)
    }
}

/// Writes numbers with leading zeros into memory that has room for them.
private struct DigitWriter {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(_ bytes: UnsafeMutableBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func append(_ character: Unicode.Scalar) {
        bytes[count] = UInt8(truncatingIfNeeded: character.value)
        count += 1
    }

    mutating func append(_ number: Int, digits: Int, _ behind: Unicode.Scalar) {
        var rest = number
        for place in (count..<(count + digits)).reversed() {
            bytes[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += digits
        append(behind)
    }
}
