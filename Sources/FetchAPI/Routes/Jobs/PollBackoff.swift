/// When to ask again what seldom changes: ever more rarely, since many may ask for long.
struct PollBackoff {
    private let shortest: Duration
    private let longest: Duration
    private var interval: Duration
    /// Nil for at once.
    private var next: ContinuousClock.Instant?

    /// - Parameters:
    ///   - shortest: The first time between two questions; the others are twice as long each.
    ///   - longest: Beyond this none is.
    init(from shortest: Duration, upTo longest: Duration) {
        (self.shortest, self.longest, interval) = (shortest, longest, shortest)
    }

    /// Whether it is time; whoever hears so asks.
    mutating func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
        if let next, now < next { return false }
        next = now + interval
        interval = min(interval * 2, longest)
        return true
    }

    /// Begins anew: something has changed.
    mutating func reset() { self = PollBackoff(from: shortest, upTo: longest) }
}
