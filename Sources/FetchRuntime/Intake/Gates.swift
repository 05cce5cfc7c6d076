package import FetchJobs
import Synchronization

/// The limiters whose gates this node is to look at, and when.
///
/// Those of which something is known, and the parts of a look at all, take turns. So nobody waits because another tenant
/// has many, or because jobs of another end all the time.
package final class Gates: Sendable {
    package enum Due: Equatable {
        case limiters([Limiter.Address])
        /// A part of the look at all: it goes on after this limiter; nil at its beginning.
        case look(after: Limiter.Address?)
    }

    /// A look at all limiters at whose gates jobs wait.
    private struct Look {
        var after: Limiter.Address?
        /// Its next part is being read, or could not be.
        var isTaken = false
        /// What it has passed by is to be looked at once more.
        var isAskedAgain = false

        /// The same when all are to be looked at once more.
        var askedAgain: Look {
            Look(after: after, isAskedAgain: isAskedAgain || isTaken || after != nil)
        }
    }

    private struct State {
        var times: [Limiter.Address: ContinuousClock.Instant] = [:]
        var look: Look?
        /// Limiters were the last that were due.
        var isTurnOfLook = false
    }

    /// How many limiters are looked at together.
    package let limit: Int
    private let clock: NodeClock
    private let state = Mutex(State())

    package init(clock: NodeClock = .continuous, limit: Int = 500) {
        self.clock = clock
        self.limit = limit
    }

    /// Nil for all.
    package func note(_ limiters: [Limiter.Address]?) {
        state.withLock { state in
            guard let limiters else { return state.look = state.look.map { $0.askedAgain } ?? Look() }
            let now = clock.now
            // One that is due already keeps its place before those that came after it.
            for limiter in limiters { state.times[limiter] = min(state.times[limiter] ?? now, now) }
        }
    }

    package func note(_ waits: [Limiter.Address: Duration]) {
        state.withLock { state in
            let now = clock.now
            for (limiter, wait) in waits { state.times[limiter] = min(state.times[limiter] ?? now + wait, now + wait) }
        }
    }

    /// Notes what a part of the look at all has found, in its order; fewer than ``limit`` are the last.
    package func noteFound(_ limiters: [Limiter.Address]) {
        note(limiters)
        state.withLock { state in
            if limiters.count < limit {
                state.look = state.look?.isAskedAgain == true ? Look() : nil
            } else {
                state.look?.after = limiters.last
                state.look?.isTaken = false
            }
        }
    }

    /// What is due; nil when nothing is.
    package func take() -> Due? {
        state.withLock { state in
            let looks = state.look.map { !$0.isTaken } ?? false
            if !(looks && state.isTurnOfLook) {
                let now = clock.now
                let due = share(of: state.times.filter { $0.value <= now })
                for limiter in due { state.times[limiter] = nil }
                state.isTurnOfLook = !due.isEmpty
                if !due.isEmpty { return .limiters(due) }
            }
            guard looks else { return nil }
            state.isTurnOfLook = false
            state.look?.isTaken = true
            return .look(after: state.look?.after)
        }
    }

    /// As many as are looked at together, of each tenant as many as of others, those first that are due for longest.
    private func share(of due: [Limiter.Address: ContinuousClock.Instant]) -> [Limiter.Address] {
        guard due.count > limit else { return Array(due.keys) }
        let tenants = Dictionary(grouping: due, by: \.key.tenant)
        let share = max(1, limit / tenants.count)
        return tenants.values.flatMap { $0.sorted { $0.value < $1.value }.prefix(share) }
            .sorted { $0.value < $1.value }.prefix(limit).map(\.key)
    }

    /// How long nothing is due; nil when nothing will be.
    package func untilNext() -> Duration? {
        state.withLock { state in
            if let look = state.look, !look.isTaken { return .zero }
            return state.times.values.min().map { max(.zero, $0 - clock.now) }
        }
    }
}
