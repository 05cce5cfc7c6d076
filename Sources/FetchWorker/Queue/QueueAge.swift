import FetchJobs
import FetchRuntime
import Synchronization

/// For how long the job that has waited longest has been due, as this node last saw it.
final class QueueAge: Sendable {
    private struct State {
        /// When it became due; nil when none waits.
        var dueSince: ContinuousClock.Instant?
        var lookedAt: ContinuousClock.Instant?
        var budget = FullScanBudget()
    }

    private let clock: NodeClock
    private let state = Mutex(State())

    init(clock: NodeClock = .continuous) { self.clock = clock }

    /// Goes on growing while the database cannot be read.
    var seconds: Double { state.withLock { $0.dueSince.map { (clock.now - $0) / .seconds(1) } } ?? 0 }

    /// Whether the last look is as old as this: nodes that get notifications of jobs all the time need not look each
    /// time, least of all when a look takes long.
    func isOlder(than age: Duration) -> Bool {
        let now = clock.now
        return state.withLock { state in
            state.budget.wait(at: now) <= .zero && state.lookedAt.map { now - $0 >= age } ?? true
        }
    }

    /// - Parameter start: When the look began.
    func note(_ age: Duration?, since start: ContinuousClock.Instant) {
        let now = clock.now
        state.withLock { state in
            state.lookedAt = now
            state.budget.note(start.duration(to: now), at: now)
            state.dueSince = age.map { now - $0 }
        }
    }
}
