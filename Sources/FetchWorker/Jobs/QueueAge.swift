import Synchronization

/// How long the job has been due that waits for the longest time, as this node last saw it.
final class QueueAge: Sendable {
    private struct State {
        /// When it became due; nil when none waits.
        var dueSince: ContinuousClock.Instant?
        var lookedAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Goes on growing while nobody can look.
    var seconds: Double { state.withLock { $0.dueSince.map { (ContinuousClock.now - $0) / .seconds(1) } } ?? 0 }

    /// Whether the last look is as old as this: nodes that are told of jobs all the time need not look each time.
    func isOlder(than age: Duration) -> Bool {
        state.withLock { $0.lookedAt.map { ContinuousClock.now - $0 >= age } ?? true }
    }

    func note(_ age: Duration?) {
        state.withLock { state in
            state.lookedAt = .now
            state.dueSince = age.map { .now - $0 }
        }
    }
}
