/// The pauses between attempts to reach a server, or to get locks from it that others hold: doubled each time, and each
/// shortened by chance up to a half, so that many clients do not come back at the same instant.
package struct Backoff {
    private let initial: Duration
    private let maximum: Duration
    private var upcoming: Duration

    package init(initial: Duration, maximum: Duration) {
        self.initial = initial
        self.maximum = maximum
        upcoming = initial
    }

    init(_ configuration: Client.Configuration) {
        self.init(initial: configuration.initialBackoff, maximum: configuration.maximumBackoff)
    }

    package mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }

    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { upcoming = min(upcoming * 2, maximum) }
        return upcoming * Double.random(in: 0.5...1, using: &generator)
    }

    package mutating func reset() { upcoming = initial }
}
