/// How much decoding may make of a little: the defence against bombs.
///
/// For HTTP content codings and for files that are decoded. Content beyond a limit fails the load with
/// `dataLengthExceedsMaximum`.
public struct DecodingLimits: Sendable, Hashable {
    /// The most bytes that one content may be decoded to; no limit by default.
    public var maximumBytes: Int64?

    /// The most bytes that each coded byte may be decoded to; 250 by default.
    ///
    /// It is checked only after more than ``ratioThreshold`` bytes of output: small content of one repeated byte is
    /// common and does no harm.
    public var maximumRatio: Int64?

    /// From how many decoded bytes on the ratio counts; 32 MiB by default.
    public var ratioThreshold: Int64

    /// Makes limits.
    public init(maximumBytes: Int64? = nil, maximumRatio: Int64? = 250, ratioThreshold: Int64 = 32 << 20) {
        self.maximumBytes = maximumBytes
        self.maximumRatio = maximumRatio
        self.ratioThreshold = ratioThreshold
    }
}

/// Counts one content against the limits.
struct DecodingLimit {
    let limits: DecodingLimits
    private(set) var coded: Int64 = 0
    private(set) var decoded: Int64 = 0
    /// The bytes between two codings.
    private var between: Int64 = 0

    init(_ limits: DecodingLimits) { self.limits = limits }

    mutating func received(_ count: Int) { coded += Int64(count) }

    mutating func produced(_ count: Int) throws(LoadError) {
        decoded += Int64(count)
        if let maximum = limits.maximumBytes, decoded > maximum { throw Self.exceeded }
        try checkRatio(of: decoded)
    }

    /// Counts the bytes that one coding made for the next: they are work, even if there is no output in the end.
    mutating func passedOn(_ count: Int) throws(LoadError) {
        between += Int64(count)
        try checkRatio(of: between)
    }

    private func checkRatio(of decoded: Int64) throws(LoadError) {
        guard let ratio = limits.maximumRatio, decoded > limits.ratioThreshold else { return }
        if decoded / max(1, ratio) > coded { throw Self.exceeded }
    }

    private static var exceeded: LoadError {
        LoadError(.dataLengthExceedsMaximum, "The content becomes larger than it may when it is decoded.")
    }
}
