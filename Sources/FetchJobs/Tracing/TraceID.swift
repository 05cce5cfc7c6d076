import FetchEngine

/// The id of a trace: 16 bytes, not all zero (W3C Trace Context §3.2.2.3).
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    /// - Returns: nil for all zeros, which is no id.
    package init?(high: UInt64, low: UInt64) {
        guard high | low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// A new id, of random bits.
    package init() {
        high = .random(in: 1...UInt64.max)
        low = .random(in: 0...UInt64.max)
    }

    /// The trace that a job begins, which any node knows without asking.
    package init(of job: Job.ID) {
        high = SpanID(mixing: job.uuid.high, job.uuid.low, .max).value
        low = SpanID(mixing: job.uuid.high, job.uuid.low, .max - 1).value
    }

    /// 32 hexadecimal digits.
    package var description: String { high.hexadecimal + low.hexadecimal }
}

/// The id of a span: 8 bytes, not all zero (W3C Trace Context §3.2.2.4).
package struct SpanID: Sendable, Hashable, CustomStringConvertible {
    package let value: UInt64

    /// - Returns: nil for all zeros, which is no id.
    package init?(_ value: UInt64) {
        guard value != 0 else { return nil }
        self.value = value
    }

    /// A new id, of random bits.
    package init() { value = .random(in: 1...UInt64.max) }

    fileprivate init(mixing high: UInt64, _ low: UInt64, _ number: UInt64) {
        var mixed = high ^ (low << 32 | low >> 32) ^ number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        value = max(mixed, 1)
    }

    /// The span of a job, which any node knows without asking: attempts on several nodes are its children.
    ///
    /// - Parameter life: How often the job was begun anew: each time is a span of its own.
    package init(of job: Job.ID, life: Int32 = 0) {
        self.init(mixing: job.uuid.high, job.uuid.low, UInt64(UInt32(bitPattern: life)) << 1)
    }

    /// The span of an attempt of a job.
    ///
    /// - Parameter claim: The number of the claim that it runs under.
    package init(of job: Job.ID, attempt claim: Int32) {
        self.init(mixing: job.uuid.high, job.uuid.low, UInt64(UInt32(bitPattern: claim)) << 1 | 1)
    }

    /// 16 hexadecimal digits.
    package var description: String { value.hexadecimal }
}

extension UInt64 {
    /// 16 digits in lower case.
    fileprivate var hexadecimal: String {
        withUnsafeBytes(of: bigEndian) { Hexadecimal.text($0) }
    }
}
