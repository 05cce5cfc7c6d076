package import FetchEngine
import HTTPTypes
import RawStructuredFieldValues

extension Limiter {
    /// The signal in a response of a host's origin for the next requests.
    package enum Signal: Sendable, Equatable {
        /// They are to wait.
        case open(OpenCircuit)
        /// They are to wait for an unknown time: twice as long each time in a row.
        case backOff(reason: String)
        /// They need not.
        case proceed
    }
}

extension Limiter.Signal {
    /// A time of an origin counts up to a day, even if the operator allows more.
    package static let longestOpenCircuit = Duration.seconds(86_400)

    /// The signal of a response; nil when it has none.
    ///
    /// Statuses 429 and 503 say by Retry-After how long to wait (RFC 9110 §10.2.3); any answer may say by RateLimit
    /// that nothing is left until some time (draft-ietf-httpapi-ratelimit-headers), in its form or those before it.
    /// Without a time 429 still means that there are too many requests (RFC 6585 §4), and 503 may concern one resource
    /// alone.
    package init?(of response: Response, now: Timestamp = .now) {
        let cache = response.cacheStatus
        guard !cache.isHit else { return nil }
        let status = cache.forwardStatus ?? response.status.code
        let refuses = [429, 503].contains(status)
        // A response that is served in place of a refusal does not have the fields of the refusal.
        if refuses, cache.forwardStatus != nil { return nil }
        if refuses, let delay = response.retryAfter(), delay > .zero {
            self = .open(for: delay, from: now, "\(status), Retry-After")
        } else if let wait = response.headerFields.waitOfRateLimit(now: now), wait > .zero {
            self = .open(for: wait, from: now, "\(status), RateLimit")
        } else if status == 429 {
            self = .backOff(reason: "429")
        } else if refuses {
            return nil
        } else {
            self = .proceed
        }
    }

    /// The same, with no longer a wait than an operator allows.
    package func bounded(by longest: Duration, now: Timestamp = .now) -> Self {
        guard case .open(let circuit) = self else { return self }
        return .open(.init(until: min(circuit.until, now.advanced(by: longest)), reason: circuit.reason))
    }

    private static func open(for time: Duration, from now: Timestamp, _ reason: String) -> Self {
        .open(.init(until: now.advanced(by: min(time, longestOpenCircuit)), reason: reason))
    }
}

extension HTTPFields {
    /// A longer field is ignored: a few policies are expected, and their parser compares each with all before it.
    private static let longestRateLimit = 2048

    /// How long no request is left; nil when some are, or the fields cannot be read.
    fileprivate func waitOfRateLimit(now: Timestamp) -> Duration? {
        let field = self[values: .rateLimit].joined(separator: ", ")
        guard field.utf8.count <= Self.longestRateLimit else { return nil }
        if !field.isEmpty { return Self.wait(inList: field) ?? Self.wait(inDictionary: field) }
        guard self[.rateLimitRemaining] == "0", let reset = self[.rateLimitReset].flatMap({ Int64($0) }) else {
            return nil
        }
        // The draft has seconds from now; some origins send the time itself, which no wait comes near.
        let isTime = reset > 1_000_000_000
        return .seconds(Swift.min(isTime ? reset - now.microseconds / 1_000_000 : reset, 1 << 32))
    }

    /// `"default";r=0;t=30`: the longest of those policies under which nothing is left.
    private static func wait(inList field: String) -> Duration? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        // A field that cannot be read says nothing (RFC 9651 §4.2).
        guard let policies = try? parser.parseListFieldValue() else { return nil }
        let waits = policies.compactMap { policy -> Int64? in
            guard case .item(let item) = policy, item.rfc9651Parameters["r"]?.number == 0 else { return nil }
            return item.rfc9651Parameters["t"]?.number
        }
        return waits.max().map { .seconds($0) }
    }

    /// `limit=100, remaining=0, reset=30`, as earlier drafts had it.
    private static func wait(inDictionary field: String) -> Duration? {
        var parser = StructuredFieldValueParser(Array(field.utf8))
        guard let members = try? parser.parseDictionaryFieldValue(), members["remaining"]?.number == 0 else {
            return nil
        }
        return members["reset"]?.number.map { .seconds($0) }
    }
}

extension RFC9651BareItem {
    fileprivate var number: Int64? { if case .integer(let number) = self { number } else { nil } }
}

extension ItemOrInnerList {
    fileprivate var number: Int64? { if case .item(let item) = self { item.rfc9651BareItem.number } else { nil } }
}

extension HTTPField.Name {
    fileprivate static let rateLimit = Self("RateLimit")!
    fileprivate static let rateLimitRemaining = Self("RateLimit-Remaining")!
    fileprivate static let rateLimitReset = Self("RateLimit-Reset")!
}
