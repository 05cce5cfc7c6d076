import DequeModule
package import FetchJobs
import Synchronization

// Where jobs wait on the node until their origin has a connection for them.

extension Slots {
    /// Jobs that are more than their host answers in a while.
    package struct Surplus {
        package let limiter: Limiter.Address
        /// How many are to run at once on all nodes while others wait.
        package let limit: Int
        /// The caller decides whether they go on.
        package let waiters: [Waiter]
    }

    /// How many jobs wait here for a connection.
    package var waitingCount: Int {
        state.withLock { state in state.indices.values.reduce(0) { $0 + state.origins[$1].waiting.count } }
    }

    /// Jobs run on so many nodes, this one among them.
    package func setNodes(_ count: Int) { state.withLock { $0.shares.nodes = count } }

    /// Whether a job has to pass the gate of its host: with other nodes, when it is crowded or each node cannot have a
    /// part of its connections.
    package func isToBeCounted(ofMaximum maximum: Int, isCrowded: Bool) -> Bool {
        state.withLock { $0.shares.nodes > 1 && (isCrowded || $0.shares.nodes > maximum) }
    }

    /// Waits until a job may load.
    ///
    /// - Parameters:
    ///   - maximum: How many connections it may be one of.
    ///   - isCounted: Whether its host's limit is kept for all nodes by a gate.
    ///   - onWait: Called when origin queues have to be watched from now on.
    /// - Returns: false when it is not to load here.
    package nonisolated(nonsending) func enter(
        _ job: ClaimedJob, _ stop: StopSwitch, maximum: Int, isCounted: Bool, onWait: () -> Void
    ) async -> Bool {
        guard job.originQueue != nil else { return true }
        let begins = state.withLock { state in
            if let index = state.index(of: stop) {
                state.setMaximum(maximum, of: index)
                state.origins[index].queue.isCounted = isCounted
            }
            return state.beginIfFree(stop)
        }
        if begins { return true }
        return await withCheckedContinuation { continuation in
            let (isOver, watches) = state.withLock { $0.wait(job, stop, continuation) }
            if watches { onWait() }
            guard !isOver else { return continuation.resume(returning: true) }
            stop.whenThrown { [weak self, weak stop] in if let stop { self?.letGo(stop) } }
        }
    }

    /// A job loads without waiting, be there a connection for it or not.
    package func enterAhead(_ stop: StopSwitch) {
        state.withLock { $0.begin(stop) }
    }

    /// A job has loaded.
    package func exit(_ stop: StopSwitch, isMultiplexed: Bool) {
        guard stop.originQueue != nil else { return }
        let next = state.withLock { state in
            stop.position.withLock { $0.isLoading = false }
            guard let index = state.index(of: stop) else { return [Waiter]() }
            if isMultiplexed { state.origins[index].queue.isMultiplexing = true }
            state.origins[index].queue.end()
            return state.next(in: index)
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

    /// Takes the jobs out of their origin queues that are more than their hosts answer.
    ///
    /// - Parameter crowds: How many jobs run at once of a limiter whose jobs wait at a gate.
    /// - Returns: Those, and whether to look again.
    package func judge(crowds: (Limiter.Address) -> Int?) -> (surplus: [Surplus], looksAgain: Bool) {
        let now = clock.now
        return state.withLock { state in
            var (surplus, looksAgain) = ([Surplus](), false)
            for index in state.indices.values {
                let crowd = crowds(state.origins[index].key.limiter)
                if crowd != nil || !state.origins[index].waiting.isEmpty { looksAgain = true }
                if let found = state.surplus(of: index, crowd, at: now) { surplus.append(found) }
            }
            state.isWatched = looksAgain
            return (surplus, looksAgain)
        }
    }

    /// Lets jobs that were taken out of their origin queue go on.
    package func goOn(_ waiters: [Waiter]) {
        state.withLock { state in
            for waiter in waiters { state.begin(waiter.stop) }
        }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }

    /// All that wait, when the node stops: they are this caller's.
    package func takeWaiters() -> [Waiter] {
        state.withLock { state in
            state.indices.values.flatMap { index in
                defer { state.origins[index].waiting = [] }
                return Array(state.origins[index].waiting)
            }
        }
    }
}

extension Slots.State {
    // MARK: Jobs that are held

    /// Suspends a job, and takes it out of its slot and its origin queue.
    ///
    /// Transfers are suspended and resumed under the lock, so that one goes on only while its job has a slot.
    ///
    /// - Returns: The waiters that go on: the next in turn, and the job itself if it waits, to be held where it would
    ///   load; nil when the job has kept its slot, since its tenant has as many that are held as it may.
    mutating func hold(_ stop: StopSwitch) -> [Slots.Waiter]? {
        stop.suspend()
        if stop.position.withLock(\.isLent) {
            stopReturning(stop)
            return []
        }
        let hasMemory = stop.bytesInMemory == 0 || memory.jobs(of: stop.tenant, having: 1) > 0
        guard held[stop.tenant, default: 0] < maximumHeld, hasMemory else { return nil }
        noteHeld(1, of: stop.tenant)
        return lend(stop)
    }

    /// Has a job go on that was held, as soon as a slot is free for its tenant.
    mutating func letGoOn(_ stop: StopSwitch, _ weight: (Tenant.ID) -> Int) {
        let (isLent, isAsking) = stop.position.withLock { ($0.isLent, $0.isAsking) }
        if !isLent {
            stop.resume()
        } else if isAsking {
            // It takes its slot when it has its answer.
            comeBack(stop, weight)
        } else {
            stop.position.withLock { $0.isReturning = true }
            returning.append(Slots.Returning(stop: stop, continuation: nil))
        }
    }

    /// A job that was held does not go on any more.
    mutating func stopReturning(_ stop: StopSwitch) {
        let wasReturning = stop.position.withLock { position in
            defer { position.isReturning = false }
            return position.isReturning
        }
        if wasReturning { returning.removeAll { $0.stop === stop && $0.continuation == nil } }
    }

    mutating func noteHeld(_ change: Int, of tenant: Tenant.ID) {
        let count = held[tenant, default: 0] + change
        held[tenant] = count > 0 ? count : nil
    }

    private mutating func lend(_ stop: StopSwitch) -> [Slots.Waiter] {
        if !stop.position.withLock(\.isAsking) { shares.leave(stop.tenant) }
        let index = index(of: stop)
        let waiter = remove(stop)
        let wasLoading = stop.position.withLock { position in
            position.isLent = true
            position.index = nil
            return position.isLoading
        }
        if waiter != nil { begin(stop) }
        guard let index else { return [] }
        if wasLoading { origins[index].queue.yield() }
        let next = wasLoading ? self.next(in: index) : []
        leave(index)
        return next + (waiter.map { [$0] } ?? [])
    }

    /// Gives a job a slot again, unless it waits for an answer, and puts it back into its origin queue, among those
    /// that load if it was to.
    mutating func comeBack(_ stop: StopSwitch, _ weight: (Tenant.ID) -> Int) {
        let index = add(to: stop.originQueue)
        let (isLoading, isAsking) = stop.position.withLock { position in
            position.isLent = false
            position.isReturning = false
            position.index = index
            return (position.isLoading, position.isAsking)
        }
        if isLoading, let index { origins[index].queue.begin() }
        if !isAsking { shares.take(for: stop.tenant, weight: weight(stop.tenant)) }
        noteHeld(-1, of: stop.tenant)
        stop.resume()
    }

    fileprivate mutating func remove(_ stop: StopSwitch) -> Slots.Waiter? {
        guard let index = index(of: stop), let place = origins[index].waiting.firstIndex(where: { $0.stop === stop })
        else { return nil }
        return origins[index].waiting.remove(at: place)
    }

    // MARK: Jobs that load

    /// A job loads from now on.
    fileprivate mutating func begin(_ stop: StopSwitch) {
        stop.position.withLock { $0.isLoading = true }
        if let index = index(of: stop) { origins[index].queue.begin() }
    }

    /// Begins a load when a connection is free and no other load waits for it, or when it takes none because it is held.
    fileprivate mutating func beginIfFree(_ stop: StopSwitch) -> Bool {
        if let index = index(of: stop) {
            guard origins[index].waiting.isEmpty,
                origins[index].queue.loading < origins[index].queue.limit(ofNodes: shares.nodes)
            else { return false }
        }
        begin(stop)
        return true
    }

    /// - Returns: Whether it need not wait any more, and whether it is the first to watch the origin queues.
    fileprivate mutating func wait(
        _ job: ClaimedJob, _ stop: StopSwitch, _ continuation: CheckedContinuation<Bool, Never>
    ) -> (isOver: Bool, watches: Bool) {
        // A connection may have become free meanwhile.
        if beginIfFree(stop) { return (true, false) }
        guard stop.reason == nil, !isClosed, let index = index(of: stop) else {
            begin(stop)
            return (true, false)
        }
        let waiter = Slots.Waiter(job: job, stop: stop, continuation: continuation)
        var place = origins[index].waiting.endIndex
        while place > 0, origins[index].waiting[place - 1].job.spec.priority < job.spec.priority { place -= 1 }
        origins[index].waiting.insert(waiter, at: place)
        defer { isWatched = true }
        return (false, !isWatched)
    }

    /// Those whose turn it is.
    fileprivate mutating func next(in index: Int) -> [Slots.Waiter] {
        guard !origins[index].waiting.isEmpty else { return [] }
        var next: [Slots.Waiter] = []
        let limit = origins[index].queue.limit(ofNodes: shares.nodes)
        while origins[index].queue.loading < limit, let waiter = origins[index].waiting.popFirst() {
            begin(waiter.stop)
            next.append(waiter)
        }
        return next
    }

    /// The jobs of an origin queue beyond those that its host answers, or a new limit for its limiter.
    fileprivate mutating func surplus(
        of index: Int, _ crowd: Int?, at now: ContinuousClock.Instant
    ) -> Slots.Surplus? {
        guard let drained = origins[index].queue.drain(at: now) else { return nil }
        let limit = origins[index].queue.crowd(drained: drained, nodes: shares.nodes)
        let surplus = origins[index].waiting.count - drained
        if surplus > 0 {
            let waiters = Array(origins[index].waiting.suffix(surplus))
            origins[index].waiting.removeLast(surplus)
            return Slots.Surplus(limiter: origins[index].key.limiter, limit: limit, waiters: waiters)
        }
        guard let crowd, limit >= 2 * crowd || limit <= crowd / 2 else { return nil }
        return Slots.Surplus(limiter: origins[index].key.limiter, limit: limit, waiters: [])
    }
}
