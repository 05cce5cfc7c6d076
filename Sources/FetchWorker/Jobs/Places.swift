import Synchronization

/// The room a node has for jobs, and whether jobs wait that should have it first.
final class Places: Sendable {
    private struct State {
        /// Below zero while jobs that were held have come back.
        var free: Int
        /// Jobs wait in the queue, as far as this node knows: new ones must not overtake them.
        var hasBacklog = false
        /// How often that was said.
        var backlogs = 0
        var isClosed = false
    }

    private let count: Int
    private let state: Mutex<State>

    init(count: Int) {
        self.count = count
        state = Mutex(State(free: count))
    }

    /// Jobs wait, and there is room for few of them.
    var areScarce: Bool { state.withLock { $0.hasBacklog && $0.free < count / 8 } }

    /// Takes up to `count` places for jobs that are being stored; none while jobs wait.
    func reserve(upTo count: Int) -> Int {
        state.withLock { state in
            guard !state.hasBacklog, !state.isClosed else { return 0 }
            let reserved = max(0, min(count, state.free))
            state.free -= reserved
            return reserved
        }
    }

    /// Takes places for jobs to be claimed, or nil when none is free or none waits.
    ///
    /// - Returns: How many, and what to tell ``noteEmpty(since:)`` when nothing was left for them.
    func reserveForClaim(maximum: Int) -> (count: Int, backlog: Int)? {
        state.withLock { state in
            guard state.hasBacklog, !state.isClosed, state.free > 0 else { return nil }
            let reserved = min(maximum, state.free)
            state.free -= reserved
            return (reserved, state.backlogs)
        }
    }

    func leave(_ count: Int) { state.withLock { $0.free += count } }

    /// Gives one place back.
    ///
    /// - Returns: Whether jobs wait for it.
    func leave() -> Bool {
        state.withLock { state in
            state.free += 1
            return state.hasBacklog
        }
    }

    func noteBacklog() {
        state.withLock { state in
            state.hasBacklog = true
            state.backlogs += 1
        }
    }

    /// Nothing waited; jobs that were put in while somebody looked may have been missed.
    func noteEmpty(since backlog: Int) {
        state.withLock { state in
            if state.backlogs == backlog { state.hasBacklog = false }
        }
    }

    /// Nobody can say what waits.
    func noteFailure() { state.withLock { $0.hasBacklog = false } }

    /// Gives no place out any more.
    func close() { state.withLock { $0.isClosed = true } }
}
