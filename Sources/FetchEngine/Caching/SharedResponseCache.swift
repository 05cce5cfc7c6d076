/// A cache that several processes share: what is not stored they fetch in turn, so that one request serves all.
package protocol SharedResponseCache: ResponseCache {
    /// Whether there are other processes now.
    var isShared: Bool { get }

    /// Waits until no other process fetches what a key stands for.
    ///
    /// Whoever gets a turn looks again at what is stored before fetching.
    ///
    /// - Parameter limit: How long to wait at most.
    /// - Returns: The turn, for which the others wait; nil when the time ran out, and the caller goes ahead without it.
    func turn(for key: CacheKey, within limit: Duration) async -> (any CacheTurn)?
}

/// The right to fetch something that other processes may want too; given back with the last reference.
package protocol CacheTurn: AnyObject, Sendable {}
