/// The rules by which a session stores responses, and uses them again.
public struct CachingConfiguration: Sendable, Hashable {
    /// The audience for which responses are stored (RFC 9111 §1.2.1).
    public enum Audience: String, Sendable, Hashable, Codable, CaseIterable {
        /// For one user.
        case `private`
        /// For many: answers marked `private`, and most of those to authenticated requests, are not stored.
        case shared
    }

    /// Which statuses may be stored.
    public enum CacheableStatuses: String, Sendable, Hashable, Codable, CaseIterable {
        /// The statuses of RFC 9111: by default 200, 203, 204, 300, 301, 308, 404, 405, 410, 414 and 501, and others
        /// when the response states how long it stays fresh.
        case rfc9111
        /// 200 to 299.
        case success
    }

    /// The audience for which responses are stored; `private` by default.
    public var audience = Audience.private
    /// Which statuses may be stored; `rfc9111` by default.
    public var cacheableStatuses = CacheableStatuses.rfc9111
    /// The longest lifetime of a response that states none; one day.
    ///
    /// Such a response is fresh for a tenth of the time its content has not changed (RFC 9111 §4.2.2). Zero turns that
    /// off.
    public var maximumHeuristicLifetime: Duration = .seconds(86_400)
    /// Whether a load waits for another one that already fetches the same resource; true.
    ///
    /// The load that has waited takes the response of the other one from the cache.
    public var coalescesRequests = true
    /// The storage for responses, unless the delegate chooses another; `allowed` by default.
    ///
    /// Responses that are stored already are used nevertheless, as the policies of requests demand.
    public var storagePolicy = CachedResponse.StoragePolicy.allowed
    /// The most bytes a body may have that is stored; `nil`, the default: as many as the cache takes.
    public var maximumEntryBytes: Int64?
    /// The values that are attached to stored responses; none by default.
    public var userInfo: [String: String] = [:]
    /// Whether responses are stored that are never fresh and cannot be confirmed either; true.
    ///
    /// Only requests that accept a stored response of any age can use such a response. When this is false, it is stored
    /// only when the request that loads it has such a policy itself.
    public var storesUnconfirmableAnswers = true

    /// Makes the defaults.
    public init() {}
}
