import EventLoop

/// Decides when bytes may move, so that in the long run no more do than a rate allows.
///
/// Whoever wants to move bytes takes a place behind all bytes that were asked for before, and waits until time has paid
/// for those up to it. A change of the rate is a change of how fast time pays: places stay as they are.
struct BandwidthMeter: Sendable {
    /// Bytes per second; nil for any number.
    private(set) var rate: Double?
    /// All bytes that were asked for.
    private var taken = 0.0
    /// The bytes of them that time has paid for.
    private var paid = 0.0
    private var updated: MonotonicTime

    init(bytesPerSecond: Int64?, at now: MonotonicTime) {
        rate = bytesPerSecond.map { Double($0) }
        updated = now
    }

    mutating func setRate(_ bytesPerSecond: Int64?, at now: MonotonicTime) {
        pay(until: now)
        rate = bytesPerSecond.map { Double($0) }
    }

    /// Takes a place for bytes, and returns how long to wait for it.
    ///
    /// An eighth of a second's bytes need not wait, nor bytes that libcurl delivers at once, so that waiting is not for
    /// every few bytes; callers that come when more than that is out wait for all of it.
    mutating func take(_ count: Int, at now: MonotonicTime) -> (place: Double, wait: Duration) {
        pay(until: now)
        taken += Double(count)
        let burst = max(16_384, (rate ?? 0) / 8)
        return (taken, taken - paid <= burst ? .zero : wait(for: taken))
    }

    mutating func wait(for place: Double, at now: MonotonicTime) -> Duration {
        pay(until: now)
        return wait(for: place)
    }

    private func wait(for place: Double) -> Duration {
        rate.map { .seconds(max(0, (place - paid) / $0)) } ?? .zero
    }

    /// Time in which no transfer waits does not count.
    private mutating func pay(until now: MonotonicTime) {
        // Loops have clocks of their own, some microseconds apart.
        let elapsed = max(0, now.nanoseconds(since: updated))
        updated = max(updated, now)
        paid = rate.map { min(taken, paid + $0 * Double(elapsed) / 1e9) } ?? taken
    }
}
