import DequeModule
import FetchJobs
import Synchronization

// Where jobs wait on the node until their origin has a connection for them.

extension Slots {
    /// Jobs that are more than their host answers in a while.
    struct Surplus {
        let lane: Lane.Address
        /// How many are to run at once on all nodes while others wait.
        let limit: Int
        /// They are this caller's to let go on or not.
        let waiters: [Waiter]
    }

    /// How many jobs wait here for a connection.
    var waitingCount: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.waiting.count } } }

    /// Jobs run on so many nodes, this one among them.
    func setNodes(_ count: Int) { state.withLock { $0.nodes = count } }

    /// Whether a job has to pass the gate of its host: with other nodes, when it is crowded or each node cannot have a part
    /// of its connections.
    func isToBeCounted(ofMaximum maximum: Int, isCrowded: Bool) -> Bool {
        state.withLock { $0.nodes > 1 && (isCrowded || $0.nodes > maximum) }
    }

    /// Waits until a job may load.
    ///
    /// - Parameters:
    ///   - maximum: How many connections it may be one of.
    ///   - isCounted: Whether its host's limit is kept for all nodes by a gate.
    ///   - onWait: Called when lines have to be watched from now on.
    /// - Returns: false when it is not to load here.
    nonisolated(nonsending) func enter(
        _ job: ClaimedJob, _ stop: StopSwitch, maximum: Int, isCounted: Bool, onWait: () -> Void
    ) async -> Bool {
        guard let key = job.line else { return true }
        if begin(key, stop, maximum, isCounted) { return true }
        return await withCheckedContinuation { continuation in
            let (isOver, watches) = state.withLock { $0.wait(job, key, stop, continuation) }
            if watches { onWait() }
            guard !isOver else { return continuation.resume(returning: true) }
            stop.whenThrown { [weak self, weak stop] in if let stop { self?.letGo(stop) } }
        }
    }

    /// A job loads without waiting, be there a connection for it or not.
    func enterAhead(_ stop: StopSwitch) {
        state.withLock { $0.begin(stop) }
    }

    private func begin(_ key: HostLine.Key, _ stop: StopSwitch, _ maximum: Int, _ isCounted: Bool) -> Bool {
        state.withLock { state in
            state.lines[key]?.line.maximum = maximum
            state.lines[key]?.line.isCounted = isCounted
            return state.beginIfFree(key, stop)
        }
    }

    /// A job has loaded.
    func exit(_ stop: StopSwitch, isMultiplexed: Bool) {
        guard let key = stop.line else { return }
        let next = state.withLock { state in
            if isMultiplexed { state.lines[key]?.line.isMultiplexing = true }
            let isCounted = stop.place.withLock { place in
                place.isLoading = false
                return !place.isLent
            }
            guard isCounted else { return [Waiter]() }
            state.lines[key]?.line.end()
            return state.next(in: key)
        }
        for waiter in next { waiter.continuation.resume(returning: true) }
    }

    /// Has a job go on that is to stop: it ends by its switch.
    private func letGo(_ stop: StopSwitch) {
        let waiter = state.withLock { state in
            let waiter = state.remove(stop)
            if waiter != nil { state.begin(stop) }
            return waiter
        }
        waiter?.continuation.resume(returning: true)
    }

    /// Takes the jobs out of their lines that are more than their hosts answer.
    ///
    /// - Parameter crowds: How many run at once of a lane whose jobs wait at a gate.
    /// - Returns: Those, and whether to look again.
    func judge(
        at now: ContinuousClock.Instant = .now, crowds: (Lane.Address) -> Int?
    ) -> (surplus: [Surplus], looksAgain: Bool) {
        state.withLock { state in
            var (surplus, looksAgain) = ([Surplus](), false)
            for key in Array(state.lines.keys) {
                let crowd = crowds(key.lane)
                if crowd != nil || state.lines[key]?.waiting.isEmpty == false { looksAgain = true }
                if let found = state.surplus(of: key, crowd, at: now) { surplus.append(found) }
            }
            state.isWatched = looksAgain
            return (surplus, looksAgain)
        }
    }

    /// Lets jobs that were taken out of their line go on.
    func goOn(_ waiters: [Waiter]) {
        state.withLock { state in
            for waiter in waiters { state.begin(waiter.stop) }
        }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }

    /// All that wait, when the node stops: they are this caller's.
    func takeWaiters() -> [Waiter] {
        state.withLock { state in
            Array(state.lines.keys).flatMap { key in
                defer { state.lines[key]?.waiting = [] }
                return Array(state.lines[key]?.waiting ?? [])
            }
        }
    }
}

extension StopSwitch {
    /// To be asked under the lock of the slots.
    var isLent: Bool { place.withLock { $0.isLent } }
}

extension Slots.State {
    // MARK: Jobs that are held

    /// Takes a job out of its line.
    ///
    /// - Returns: Those that go on: whose turn it is now, and the job itself if it waits, to be held where it would load.
    mutating func lend(_ stop: StopSwitch) -> [Slots.Waiter] {
        shares.leave(stop.tenant)
        let wasLoading = stop.place.withLock { place in
            place.isLent = true
            return place.isLoading
        }
        guard let key = stop.line else { return [] }
        if wasLoading { lines[key]?.line.yield() }
        let waiter = wasLoading ? nil : remove(stop)
        if waiter != nil { begin(stop) }
        let next = wasLoading ? self.next(in: key) : []
        leave(key)
        return next + (waiter.map { [$0] } ?? [])
    }

    /// Puts a job back into its line, among those that load if it was to.
    mutating func comeBack(_ stop: StopSwitch) {
        let isLoading = stop.place.withLock { place in
            place.isLent = false
            return place.isLoading
        }
        add(to: stop.line)
        if isLoading, let key = stop.line { lines[key]?.line.begin() }
    }

    fileprivate mutating func remove(_ stop: StopSwitch) -> Slots.Waiter? {
        guard let key = stop.line, let index = lines[key]?.waiting.firstIndex(where: { $0.stop === stop }) else {
            return nil
        }
        return lines[key]?.waiting.remove(at: index)
    }

    // MARK: Jobs that load

    /// A job loads from now on.
    fileprivate mutating func begin(_ stop: StopSwitch) {
        guard let key = stop.line else { return }
        let isCounted = stop.place.withLock { place in
            place.isLoading = true
            return !place.isLent
        }
        if isCounted { lines[key]?.line.begin() }
    }

    /// Begins a load where a connection is free and nobody waits for it, or it takes none because it is held.
    fileprivate mutating func beginIfFree(_ key: HostLine.Key, _ stop: StopSwitch) -> Bool {
        let isFree =
            lines[key].map { $0.waiting.isEmpty && $0.line.loading < $0.line.limit(ofNodes: nodes) } ?? true
        guard isFree || stop.isLent else { return false }
        begin(stop)
        return true
    }

    /// - Returns: Whether it need not wait any more, and whether nobody has watched the lines before.
    fileprivate mutating func wait(
        _ job: ClaimedJob, _ key: HostLine.Key, _ stop: StopSwitch, _ continuation: CheckedContinuation<Bool, Never>
    ) -> (isOver: Bool, watches: Bool) {
        // A connection may have become free meanwhile.
        if beginIfFree(key, stop) { return (true, false) }
        if stop.reason != nil || isClosed {
            begin(stop)
            return (true, false)
        }
        let waiter = Slots.Waiter(job: job, stop: stop, continuation: continuation)
        var index = lines[key]?.waiting.endIndex ?? 0
        while index > 0, let before = lines[key]?.waiting[index - 1], before.job.spec.priority < job.spec.priority {
            index -= 1
        }
        lines[key]?.waiting.insert(waiter, at: index)
        defer { isWatched = true }
        return (false, !isWatched)
    }

    /// Those whose turn it is.
    fileprivate mutating func next(in key: HostLine.Key) -> [Slots.Waiter] {
        guard let line = lines[key]?.line, lines[key]?.waiting.isEmpty == false else { return [] }
        var next: [Slots.Waiter] = []
        let limit = line.limit(ofNodes: nodes)
        // Of the line no copy is held, or each waiter that leaves would cost as many as wait.
        while let loading = lines[key]?.line.loading, loading < limit, let waiter = lines[key]?.waiting.popFirst() {
            begin(waiter.stop)
            next.append(waiter)
        }
        return next
    }

    /// What a line has more than its host answers, or how its lane is to be limited otherwise than now.
    fileprivate mutating func surplus(
        of key: HostLine.Key, _ crowd: Int?, at now: ContinuousClock.Instant
    ) -> Slots.Surplus? {
        guard let drained = lines[key]?.line.drain(at: now), let line = lines[key] else { return nil }
        let limit = line.line.crowd(drained: drained, nodes: nodes)
        let surplus = line.waiting.count - drained
        if surplus > 0 {
            let waiters = Array(line.waiting.suffix(surplus))
            lines[key]?.waiting.removeLast(surplus)
            return Slots.Surplus(lane: key.lane, limit: limit, waiters: waiters)
        }
        guard let crowd, limit >= 2 * crowd || limit <= crowd / 2 else { return nil }
        return Slots.Surplus(lane: key.lane, limit: limit, waiters: [])
    }
}
