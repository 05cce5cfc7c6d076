/// The part of the cache in a response, as RFC 9211 describes it.
public struct CacheStatus: Sendable, Hashable {
    /// Why a request went to the origin.
    public enum Forward: String, Sendable, Hashable, CaseIterable {
        /// There is no cache, or the policy or the request does not use it.
        case bypass
        /// The method is not cached.
        case method
        /// Nothing is stored for the URL.
        case uriMiss = "uri-miss"
        /// The stored responses for the URL are for other requests.
        case varyMiss = "vary-miss"
        /// The stored response was fresh, but the request wanted it revalidated.
        case request
        /// The stored response was stale.
        case stale
    }

    /// Why the request went to the origin; nil when it was answered from the cache.
    public var forward: Forward?
    /// The status the origin answered with, when it is not the response's own.
    public var forwardStatus: Int?
    /// How many seconds the response stays fresh; negative for one that is stale.
    public var timeToLive: Int64?
    /// Whether the response is being stored.
    public var isStored = false
    /// Whether the load waited for another one that was fetching the same.
    public var isCollapsed = false
    /// A further detail, as a token such as `stale-if-error`.
    public var detail: String?

    /// The response came from the cache without asking the origin.
    public var isHit: Bool { forward == nil }

    /// Makes a status.
    public init(forward: Forward? = .bypass) { self.forward = forward }
}

extension CacheStatus: CustomStringConvertible {
    /// The value of a `Cache-Status` field, such as `FetchEngine;hit;ttl=30`.
    public var description: String { Self.cacheName + parameters }

    /// The name of the cache in the field.
    package static let cacheName = "FetchEngine"

    /// What the value says behind the name of the cache.
    package var parameters: String {
        var text = ""
        if let forward { text += ";fwd=\(forward.rawValue)" } else { text += ";hit" }
        if let forwardStatus { text += ";fwd-status=\(forwardStatus)" }
        if let timeToLive { text += ";ttl=\(timeToLive)" }
        if isStored { text += ";stored" }
        if isCollapsed { text += ";collapsed" }
        if let detail { text += ";detail=\(detail)" }
        return text
    }
}
