import HTTPTypes

/// How old an answer is and how long it may be used without asking (RFC 9111 §4.2).
struct Freshness: Sendable {
    /// When the origin made the answer; when it came, where it does not say.
    let date: UnixTime
    /// Its age when it came.
    let initialAge: Duration
    let responseTime: UnixTime
    /// The lifetimes that the response states: for a private cache, and for a shared one.
    private let explicitLifetime: Duration?
    private let sharedLifetime: Duration?
    /// A tenth of the time its content had not changed, where nothing else tells.
    private let heuristicLifetime: Duration

    /// It must be confirmed each time it is used.
    let requiresValidation: Bool
    private let forbidsStale: Bool
    private let forbidsStaleWhenShared: Bool
    /// It will not change while it is fresh (RFC 8246).
    let isImmutable: Bool
    /// How long after its lifetime it may be used while it is being confirmed (RFC 5861 §3).
    let staleWhileRevalidate: Duration
    /// How long after its lifetime it may stand in for a server that fails (RFC 5861 §4).
    let staleIfError: Duration

    init(of response: Response, requestTime: UnixTime, responseTime: UnixTime) {
        let fields = response.headerFields
        let control = CacheControl(fields)
        self.responseTime = responseTime
        let date = fields[values: .date].first.flatMap { HTTPDate.time($0, now: responseTime) } ?? responseTime
        self.date = date
        initialAge = Self.initialAge(fields, date: date, requestTime: requestTime, responseTime: responseTime)

        explicitLifetime = control.seconds("max-age") ?? Self.expiry(fields, date: date, responseTime: responseTime)
        sharedLifetime = control.seconds("s-maxage")
        heuristicLifetime = Self.heuristic(response, control, date: date, responseTime: responseTime)

        requiresValidation = control.contains("no-cache")
        forbidsStale = control.contains("must-revalidate")
        forbidsStaleWhenShared = control.contains("proxy-revalidate") || control.contains("s-maxage")
        isImmutable = control.contains("immutable")
        staleWhileRevalidate = control.seconds("stale-while-revalidate") ?? .zero
        staleIfError = control.seconds("stale-if-error") ?? .zero
    }

    /// How old it is now (§4.2.3).
    ///
    /// The clock may have been set back since it came. Then nothing is known, and it counts as very old.
    func age(at now: UnixTime) -> Duration {
        let resident = now.duration(since: responseTime)
        return resident >= .zero ? initialAge + resident : .seconds(CacheControl.maximumSeconds)
    }

    /// How long it is fresh, counted from age zero (§4.2.1).
    func lifetime(_ configuration: CachingConfiguration) -> Duration {
        if configuration.audience == .shared, let sharedLifetime { return sharedLifetime }
        return explicitLifetime ?? min(heuristicLifetime, max(.zero, configuration.maximumHeuristicLifetime))
    }

    /// Whether it itself says how long it is fresh.
    func hasExplicitLifetime(_ configuration: CachingConfiguration) -> Bool {
        explicitLifetime != nil || configuration.audience == .shared && sharedLifetime != nil
    }

    /// Whether it may never be used once it is stale (§4.2.4).
    func forbidsStale(_ configuration: CachingConfiguration) -> Bool {
        requiresValidation || forbidsStale || configuration.audience == .shared && forbidsStaleWhenShared
    }

    private static func initialAge(
        _ fields: HTTPFields, date: UnixTime, requestTime: UnixTime, responseTime: UnixTime
    ) -> Duration {
        let apparent = max(.zero, responseTime.duration(since: date))
        let delay = max(.zero, responseTime.duration(since: requestTime))
        return max(apparent, stated(fields) + delay)
    }

    /// The first `Age`; a value that is no number is ignored (§5.1).
    private static func stated(_ fields: HTTPFields) -> Duration {
        guard let first = fields[values: .age].first?.split(separator: ",").first?.trimmed, !first.isEmpty,
            first.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return .zero }
        return .seconds(min(Int64(first) ?? CacheControl.maximumSeconds, CacheControl.maximumSeconds))
    }

    /// The lifetime by `Expires`; one that cannot be read, or is there twice, has passed (§5.3).
    private static func expiry(_ fields: HTTPFields, date: UnixTime, responseTime: UnixTime) -> Duration? {
        let values = fields[values: .expires]
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0 == first }), HTTPDate.isExact(first),
            let time = HTTPDate.time(first, now: responseTime)
        else { return .zero }
        return max(.zero, time.duration(since: date))
    }

    private static func heuristic(
        _ response: Response, _ control: CacheControl, date: UnixTime, responseTime: UnixTime
    ) -> Duration {
        guard Storability.isHeuristicallyCacheable(response.status) || control.contains("public"),
            let modified = response.headerFields[values: .lastModified].first,
            let time = HTTPDate.time(modified, now: responseTime)
        else { return .zero }
        return max(.zero, date.duration(since: time) / 10)
    }
}
