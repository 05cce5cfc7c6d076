import Glibc

/// A turn of a loop that was so long that other work had to wait.
package struct LoopStall: Sendable {
    /// The name of the loop.
    package let loop: String
    /// From one look at epoll to the next.
    package let elapsed: Duration
    /// The time of it in which the thread worked, without its sleep and without the time when the machine gave its
    /// processor to another.
    package let worked: Duration
}

/// Measures the turns of a loop, at the price of two looks at the clock for each.
struct TurnClock {
    /// Shorter turns are not reported.
    private static let threshold: Int64 = 5_000_000
    /// The greatest age of the reading of the thread's own clock when a turn begins: to read it is a call of the
    /// kernel.
    private static let precision: Int64 = 1_000_000

    private var began = MonotonicTime.now
    private var worked: UInt64 = 0
    private var lastReading = MonotonicTime(nanoseconds: 0)

    /// The loop has looked at epoll.
    mutating func begin() {
        began = .now
        if began.nanoseconds(since: lastReading) > Self.precision { read(at: began) }
    }

    /// The loop of this name is about to look again; returns the stall to report, if any.
    mutating func end(of loop: String) -> LoopStall? {
        let now = MonotonicTime.now
        let elapsed = now.nanoseconds(since: began)
        guard elapsed >= Self.threshold else { return nil }
        let before = worked
        read(at: now)
        return LoopStall(
            loop: loop, elapsed: .nanoseconds(elapsed),
            worked: .nanoseconds(min(elapsed, Int64(clamping: worked &- before))))
    }

    private mutating func read(at now: MonotonicTime) {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        worked = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        lastReading = now
    }
}
