extension CacheEntry {
    /// How old an answer is, and how long it may be used without asking.
    package struct Times: Sendable {
        package let age: Duration
        package let lifetime: Duration
        /// Whether the lifetime is an estimate: the response states none.
        package let isHeuristic: Bool
        /// It has to be confirmed each time it is used.
        package let requiresValidation: Bool
    }

    /// The age and the lifetime of the entry at a time, under these rules.
    package func times(at now: UnixTime, _ configuration: CachingConfiguration = CachingConfiguration()) -> Times {
        Times(
            age: freshness.age(at: now), lifetime: freshness.lifetime(configuration),
            isHeuristic: !freshness.hasExplicitLifetime(configuration),
            requiresValidation: freshness.requiresValidation)
    }

    /// Whether the origin can be asked if it is still good.
    package var hasValidator: Bool { preconditions != nil }
}
