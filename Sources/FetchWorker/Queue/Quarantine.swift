import FetchJobs
import FetchRuntime
import Synchronization

/// The suspects that this node tries.
///
/// After a while others come in all the same: a job that has run for so long is hardly the cause, and long jobs that
/// were lost with two nodes by bad luck would otherwise hold up all others for ever.
final class Quarantine: Sendable {
    private struct State {
        var jobs: Set<Job.ID> = []
        /// When the last ones came.
        var since: ContinuousClock.Instant
        var restsUntil: ContinuousClock.Instant
    }

    static let patience = Duration.seconds(60)

    private let clock: NodeClock
    private let state: Mutex<State>

    init(clock: NodeClock = .continuous) {
        self.clock = clock
        state = Mutex(State(since: clock.now, restsUntil: clock.now))
    }

    /// Whether suspects may come in.
    var isFree: Bool {
        let now = clock.now
        return state.withLock { state in
            now >= state.restsUntil && (state.jobs.isEmpty || now - state.since > Self.patience)
        }
    }

    func enter(_ jobs: [ClaimedJob]) {
        state.withLock { state in
            state.jobs.formUnion(jobs.map(\.id))
            state.since = clock.now
        }
    }

    func has(_ job: Job.ID) -> Bool { state.withLock { $0.jobs.contains(job) } }

    /// - Returns: Whether it was the last one.
    func leave(_ job: Job.ID) -> Bool { state.withLock { $0.jobs.remove(job) != nil && $0.jobs.isEmpty } }

    /// Admits no suspect for a while.
    func rest(for time: Duration) { state.withLock { $0.restsUntil = clock.now + time } }
}
