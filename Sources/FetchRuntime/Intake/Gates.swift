package import FetchJobs
import Synchronization

/// The limiters whose gates this node is to look at, and when.
package final class Gates: Sendable {
    package struct Due {
        /// Nil for all.
        package let limiters: [Limiter.Address]?
    }

    private struct State {
        var times: [Limiter.Address: ContinuousClock.Instant] = [:]
        var looksAtAll = false
    }

    private let clock: NodeClock
    private let state = Mutex(State())

    package init(clock: NodeClock = .continuous) { self.clock = clock }

    /// Nil for all.
    package func note(_ limiters: [Limiter.Address]?) {
        state.withLock { state in
            guard let limiters else { return state.looksAtAll = true }
            for limiter in limiters { state.times[limiter] = clock.now }
        }
    }

    package func note(_ waits: [Limiter.Address: Duration]) {
        state.withLock { state in
            let now = clock.now
            for (limiter, wait) in waits { state.times[limiter] = min(state.times[limiter] ?? now + wait, now + wait) }
        }
    }

    /// The due limiters; nil when there are none.
    package func take() -> Due? {
        state.withLock { state in
            if state.looksAtAll {
                state.looksAtAll = false
                state.times = [:]
                return Due(limiters: nil)
            }
            let now = clock.now
            let due = state.times.filter { $0.value <= now }.map(\.key)
            for limiter in due { state.times[limiter] = nil }
            return due.isEmpty ? nil : Due(limiters: due)
        }
    }

    /// How long nothing is due; nil when nothing will be.
    package func untilNext() -> Duration? {
        state.withLock { $0.looksAtAll ? .zero : $0.times.values.min().map { max(.zero, $0 - clock.now) } }
    }
}
