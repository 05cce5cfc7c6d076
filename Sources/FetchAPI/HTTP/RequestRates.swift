import FetchJobs
import HTTPTypes

/// How fast each tenant may send requests to this node: one a moment, or as many at once as it left out before (GCRA).
///
/// A tenant gets a place when a valid key of its was shown, and only until it has all its room again: who sends nothing
/// takes no memory, and no timer is needed.
struct RequestRates: Sendable {
    /// What a request leaves of a tenant's room.
    struct Verdict: Sendable, Equatable {
        let isAllowed: Bool
        /// How many requests there is room for at most, and now.
        let quota: Int64
        let left: Int64
        /// Seconds until there is room again for one, or, when there is some, for all.
        let reset: Int64
    }

    /// For how long a tenant may have sent nothing to make up for it.
    static let windowSeconds = 2
    private static let window = Duration.seconds(windowSeconds)

    /// When each tenant has all its room again.
    private var full: [Tenant.ID: ContinuousClock.Instant] = [:]
    /// At how many tenants those are forgotten that have it.
    private var sweepCount = 1024

    var count: Int { full.count }

    /// Takes one request.
    ///
    /// - Parameter limit: How many a second; another one than before counts at once.
    mutating func take(of tenant: Tenant.ID, limit: Int64, at now: ContinuousClock.Instant) -> Verdict {
        let interval = Duration.nanoseconds(1_000_000_000 / limit)
        // No further away than with no room at all: the limit was lower before, or the clock went back.
        let start = min(max(full[tenant] ?? now, now), now + Self.window)
        let next = start + interval
        let quota = limit * Int64(Self.windowSeconds)
        guard next - now <= Self.window else {
            return Verdict(isAllowed: false, quota: quota, left: 0, reset: (next - now - Self.window).wholeSeconds)
        }
        if full.count >= sweepCount { sweep(at: now) }
        full[tenant] = next
        let left = Int64((Self.window - (next - now)) / interval)
        return Verdict(isAllowed: true, quota: quota, left: left, reset: (next - now).wholeSeconds)
    }

    private mutating func sweep(at now: ContinuousClock.Instant) {
        full = full.filter { $0.value > now }
        sweepCount = max(1024, 2 * full.count)
    }
}

extension RequestRates.Verdict {
    /// What clients know the limit by.
    static let name = "requests"

    /// Tells a client (draft-ietf-httpapi-ratelimit-headers); a response that tells of another limit says only that.
    func write(to headers: inout HTTPFields) {
        guard headers[.rateLimit] == nil else { return }
        headers[.rateLimitPolicy] = "\"\(Self.name)\";q=\(quota);w=\(RequestRates.windowSeconds)"
        headers[.rateLimit] = "\"\(Self.name)\";r=\(left);t=\(reset)"
    }
}

extension Problem {
    /// The same for a request rate that was reached.
    func limited(by limit: String, _ verdict: RequestRates.Verdict) -> Problem {
        limited(
            by: limit, quota: Int(verdict.quota), window: RequestRates.windowSeconds,
            retryingAfter: Int(verdict.reset))
    }
}

extension Duration {
    /// Rounded up; 1 at least.
    fileprivate var wholeSeconds: Int64 {
        let (seconds, rest) = components
        return max(1, rest > 0 ? seconds + 1 : seconds)
    }
}
