import HTTPTypes

// When a stored answer may be used (RFC 9111 §4).
extension CacheMachine {
    /// Why an entry may not be used without asking, or nil when it may.
    func reasonToForward(_ entry: CacheEntry, now: UnixTime) -> CacheStatus.Forward? {
        let age = entry.freshness.age(at: now)
        let lifetime = entry.freshness.lifetime(configuration)
        let isFresh = lifetime > age
        switch policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return nil
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .request
        case .reloadRevalidatingCacheData where isFresh && isUnchanging(entry): return nil
        case .reloadRevalidatingCacheData: return isFresh ? .request : .stale
        case .useProtocolCachePolicy: break
        }
        if entry.freshness.requiresValidation { return .stale }
        if directives.noCache { return .request }
        if let maxAge = directives.maxAge, age > maxAge || maxAge == .zero {
            guard isFresh, maxAge == .zero, isUnchanging(entry) else { return isFresh ? .request : .stale }
        }
        if let minFresh = directives.minFresh, lifetime - age < minFresh { return isFresh ? .request : .stale }
        guard !isFresh else { return nil }
        return mayBeStale(entry, by: age - lifetime) ? nil : .stale
    }

    func mayBeStale(_ entry: CacheEntry, by excess: Duration) -> Bool {
        guard !entry.freshness.forbidsStale(configuration) else { return false }
        if let maxStale = directives.maxStale, excess <= maxStale { return true }
        return excess <= entry.freshness.staleWhileRevalidate && entry.freshness.staleWhileRevalidate > .zero
    }

    /// Served stale only because it is being confirmed meanwhile (RFC 5861 §3).
    func needsRefresh(_ entry: CacheEntry, at now: UnixTime) -> Bool {
        let excess = entry.freshness.age(at: now) - entry.freshness.lifetime(configuration)
        guard excess >= .zero else { return false }
        return directives.maxStale.map { excess > $0 } ?? true
    }

    /// The origin promises not to change it while it is fresh, over a connection that could not be tampered with
    /// (RFC 8246 §2 and §3).
    func isUnchanging(_ entry: CacheEntry) -> Bool {
        entry.freshness.isImmutable && entry.freshness.hasExplicitLifetime(configuration)
            && request.url.scheme == "https"
    }

    static func isServerFailure(_ code: Int) -> Bool { code == 500 || (502...504).contains(code) }

    func timeToLive(of entry: CacheEntry, at now: UnixTime) -> Int64 {
        entry.freshness.lifetime(configuration).components.seconds - entry.freshness.age(at: now).components.seconds
    }

    var gatewayTimeout: Response {
        Response(url: request.url.withoutCredentials(), status: .gatewayTimeout, expectedContentLength: 0)
    }

    static let notCached = LoadError(
        .resourceUnavailable, "Nothing that may be used is in the cache, and the policy is not to load.")
}

extension HTTPRequest.Method {
    /// Whether a request with it changes nothing at the origin (RFC 9110 §9.2.1); an unknown method may change things.
    var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}
