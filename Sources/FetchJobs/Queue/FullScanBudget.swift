/// Allows for looks that may turn out long: a twentieth of the time.
package struct FullScanBudget: Sendable {
    private var nextAt: ContinuousClock.Instant?

    package init() {}

    /// How long until the next one; zero or less when it may be now.
    package func wait(at now: ContinuousClock.Instant) -> Duration { nextAt.map { now.duration(to: $0) } ?? .zero }

    /// - Parameter cost: The extra time of the look that has ended at `end`, compared with another one.
    package mutating func note(_ cost: Duration, at end: ContinuousClock.Instant) { nextAt = end + cost * 20 }
}
