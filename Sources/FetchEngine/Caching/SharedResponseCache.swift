/// A cache that several processes share: they fetch missing responses in turn, so that one request serves all.
package protocol SharedResponseCache: ResponseCache {
    /// Whether there are other processes now.
    var isShared: Bool { get }

    /// Waits until no other process fetches the response for a key.
    ///
    /// The process that gets a turn looks at the stored entries again before it fetches.
    ///
    /// - Parameter limit: How long to wait at most.
    /// - Returns: The turn, for which the others wait; nil when the time ran out, and the caller goes ahead without it.
    func turn(for key: CacheKey, within limit: Duration) async -> (any CacheTurn)?
}

/// The right to fetch something that other processes may want too; given back with the last reference.
package protocol CacheTurn: AnyObject, Sendable {}
