import DequeModule
package import FetchJobs
import Synchronization

/// The room a node has for jobs, by tenants and by hosts, and whether jobs wait that should have it first.
package final class Slots: Sendable {
    /// The jobs that a claim may take.
    package struct Offer {
        package let count: Int
        package let room: ClaimRoom
        /// The value for ``noteEmpty(since:full:)`` when nothing was left.
        package let backlog: Int
    }

    /// The slots that jobs leave to others while they are held.
    package struct Lent {
        /// Jobs wait for a slot that is free now.
        package let hasWaiting: Bool
        /// Those in which fewer load than before.
        package let limiters: Set<Limiter.Address>
        /// Jobs beyond those whose loads are kept: they have their slots until they are given back.
        package let surplus: [StopSwitch]
    }

    struct State {
        var shares: SlotShares
        let clock: NodeClock
        /// The origins that have jobs, and unused entries for the next ones.
        var origins: [Origin] = []
        var indices: [OriginQueue.Key: Int] = [:]
        var unused: [Int] = []
        /// How many origin queues of tenants are full.
        var full: [Tenant.ID: Int] = [:]
        /// Tenants that may have jobs waiting and may take no more for now.
        var heldBack: Set<Tenant.ID> = []
        /// Jobs wait in the queue, as far as this node knows: new ones must not overtake them.
        var hasBacklog = false
        /// How often a backlog was reported.
        var backlogs = 0
        /// Slots are set aside for jobs whose tenants are not known yet.
        var isClaiming = false
        /// Origin queues whose jobs wait in the queue too.
        var behind: Set<OriginQueue.Key> = []
        var isClosed = false
        /// Something runs alone here.
        var isQuiet = false
        /// Jobs whose delegates have answered, or whose clients hold them no longer, and that wait for a slot to go on,
        /// the first first.
        var returning: Deque<Returning> = []
        var isWatched = false
        /// How many jobs of a tenant have lent their slots, those among them that wait to go on.
        var held: [Tenant.ID: Int] = [:]
        /// Of all jobs that have come here and not left, also while others have their slots.
        var memory: TenantBudget
        /// How many those may be: each keeps its connection and what it has buffered.
        let maximumHeld: Int

        init(shares: SlotShares, memory: TenantBudget, clock: NodeClock) {
            self.shares = shares
            self.memory = memory
            self.clock = clock
            maximumHeld = max(Slots.leastHeld, shares.reserve)
        }
    }

    /// An origin of a session, its queue, and the jobs that wait in it.
    struct Origin {
        let key: OriginQueue.Key
        var queue: OriginQueue
        /// The most urgent first, and of equals who came first.
        var waiting: Deque<Waiter> = []
    }

    package struct Waiter {
        package let job: ClaimedJob
        package let stop: StopSwitch
        /// Continues with whether the job loads.
        package let continuation: CheckedContinuation<Bool, Never>
    }

    /// A job that is to go on.
    struct Returning {
        let stop: StopSwitch
        /// Nil for one that its client has held: its transfer is resumed.
        let continuation: CheckedContinuation<Void, Never>?
    }

    /// How many loads of suspended jobs a node keeps of a tenant, however few slots it has.
    static let leastHeld = 16

    let clock: NodeClock
    let weight: @Sendable (Tenant.ID) -> Int
    let state: Mutex<State>

    /// - Parameters:
    ///   - count: How many one tenant alone may have.
    ///   - memory: How many bytes the contents of all jobs may take.
    ///   - clock: The clock by which origin queues are judged.
    ///   - weight: The weight of a tenant.
    init(
        count: Int, memory: Int = .max, clock: NodeClock = .continuous, weight: @escaping @Sendable (Tenant.ID) -> Int
    ) {
        self.clock = clock
        self.weight = weight
        state = Mutex(State(shares: SlotShares(count: count), memory: TenantBudget(memory), clock: clock))
    }

    /// How many slots are free.
    package var freeCount: Int { state.withLock { max(0, $0.shares.free) } }

    /// Jobs wait, and there is room for few of them.
    package var areScarce: Bool {
        state.withLock { state in
            state.hasBacklog && (state.shares.free < 2 * state.shares.reserve || !state.heldBack.isEmpty)
        }
    }

    // MARK: Jobs that are being stored

    /// Takes slots for jobs that are being stored; not where others wait that go first.
    ///
    /// - Returns: For which.
    package func reserve(_ jobs: [NewJob]) -> [Bool] {
        state.withLock { state in
            guard !state.isClosed, !state.isQuiet else { return jobs.map { _ in false } }
            return jobs.map { job in
                guard state.mayStart(job.originQueue, of: job.tenant, weight) else { return false }
                state.shares.take(for: job.tenant, weight: weight(job.tenant))
                state.memory.charge(job.bytesInMemory, to: job.tenant)
                state.add(to: job.originQueue)
                return true
            }
        }
    }

    /// Gives slots back of jobs that are not started.
    package func release(_ jobs: [NewJob]) {
        let next = state.withLock { state in
            for job in jobs {
                state.shares.leave(job.tenant)
                state.memory.charge(-job.bytesInMemory, to: job.tenant)
                if let index = job.originQueue.flatMap({ state.indices[$0] }) { state.leave(index) }
            }
            return state.nextReturning(weight)
        }
        next.goOn()
    }

    // MARK: Jobs that are claimed

    /// Sets slots aside for jobs to be claimed; nil when none is free or none waits.
    package func reserveForClaim(maximum: Int) -> Offer? {
        state.withLock { state in
            guard state.hasBacklog, !state.isClosed, !state.isQuiet, state.shares.free > 0 else { return nil }
            let count = min(maximum, state.shares.free)
            var room = state.shares.roomOfOthers
            room.ofOthers = min(count, room.ofOthers)
            for tenant in state.shares.tenants { room.ofTenants[tenant] = state.room(of: tenant, weight) }
            for tenant in state.memory.tenants { room.ofTenants[tenant] = state.room(of: tenant, weight) }
            state.shares.setAside(count)
            state.isClaiming = true
            return Offer(count: count, room: room, backlog: state.backlogs)
        }
    }

    /// The jobs have got slots of those that were set aside; the others are free again.
    package func assign(_ jobs: [ClaimedJob], of count: Int) {
        let next = state.withLock { state in
            state.isClaiming = false
            state.shares.putBack(count - jobs.count)
            for job in jobs {
                state.shares.assign(to: job.tenant, weight: weight(job.tenant))
                state.memory.charge(job.bytesInMemory, to: job.tenant)
                state.add(to: job.originQueue)
            }
            return state.nextReturning(weight)
        }
        next.goOn()
    }

    /// Takes slots for jobs that run in any case.
    package func admit(_ jobs: [ClaimedJob]) {
        state.withLock { state in
            for job in jobs {
                state.shares.take(for: job.tenant, weight: weight(job.tenant))
                state.memory.charge(job.bytesInMemory, to: job.tenant)
                state.add(to: job.originQueue)
            }
        }
    }

    /// A job does not run any more.
    ///
    /// - Returns: Whether jobs wait for its slot.
    package func leave(_ stop: StopSwitch) -> Bool {
        let (next, hasWaiting) = state.withLock { state in
            let (isLent, isAsking) = stop.position.withLock { position in
                position.hasLeft = true
                return (position.isLent, position.isAsking)
            }
            state.memory.charge(-stop.bytesInMemory, to: stop.tenant)
            if isLent {
                state.stopReturning(stop)
                state.noteHeld(-1, of: stop.tenant)
            } else {
                if !isAsking { state.shares.leave(stop.tenant) }
                if let index = state.index(of: stop) { state.leave(index) }
            }
            return (state.nextReturning(weight), state.callHeldBack(weight))
        }
        next.goOn()
        return hasWaiting
    }

    /// Holds jobs and gives others their slots and their places in origin queues, or has them go on, each as soon as a
    /// slot is free for its tenant.
    ///
    /// A thousand jobs that are resumed at once are not a thousand loads.
    package func lend(_ stops: [StopSwitch], _ isLent: Bool) -> Lent {
        let (next, surplus, returning, hasWaiting) = state.withLock { state in
            var (next, surplus) = ([Waiter](), [StopSwitch]())
            for stop in stops {
                if !isLent {
                    state.letGoOn(stop, weight)
                } else if let waiters = state.hold(stop) {
                    next += waiters
                } else {
                    surplus.append(stop)
                }
            }
            return (next, surplus, state.nextReturning(weight), state.callHeldBack(weight))
        }
        for waiter in next { waiter.continuation.resume(returning: true) }
        returning.goOn()
        let limiters = isLent ? Set(stops.compactMap(\.originQueue?.limiter)) : []
        return Lent(hasWaiting: hasWaiting, limiters: limiters, surplus: surplus)
    }

    /// Sets how many slots tenants may have; what runs beyond goes on.
    package func setLimits(_ limits: RunningLimits) {
        let next = state.withLock { state in
            guard state.shares.limits != limits else { return [Returning]() }
            state.shares.limits = limits
            _ = state.callHeldBack(weight)
            return state.nextReturning(weight)
        }
        next.goOn()
    }

    // MARK: The backlog

    package func noteBacklog() { state.withLock { $0.noteBacklog() } }

    /// Jobs of these tenants were stored that wait.
    ///
    /// - Returns: Whether some of them may be claimed.
    package func noteBacklog(of tenants: Set<Tenant.ID>) -> Bool {
        state.withLock { state in
            let blocked = tenants.filter { state.room(of: $0, weight) == 0 }
            state.heldBack.formUnion(blocked)
            guard blocked.count < tenants.count else { return false }
            state.noteBacklog()
            return true
        }
    }

    /// No job waited; a job that was stored during the scan may have been missed.
    ///
    /// - Parameter full: Tenants that may have jobs waiting and had no room for them.
    package func noteEmpty(since backlog: Int, full: Set<Tenant.ID>) {
        state.withLock { state in
            guard state.backlogs == backlog else { return }
            state.heldBack = full.filter { state.room(of: $0, weight) == 0 }
            state.behind = state.behind.filter { state.heldBack.contains($0.tenant) }
            // For others there is room again.
            state.hasBacklog = state.heldBack.count < full.count
        }
    }

    /// It is unknown which jobs wait.
    package func noteFailure() { state.withLock { $0.hasBacklog = false } }

    /// Gives no slot out while it is quiet.
    package func setQuiet(_ isQuiet: Bool) { state.withLock { $0.isQuiet = isQuiet } }

    /// No slot is taken.
    package var areEmpty: Bool { state.withLock { $0.shares.areFree } }

    /// Gives no slot out any more.
    package func close() { state.withLock { $0.isClosed = true } }
}

extension Slots.State {
    /// Whether new jobs would take the room of waiting ones.
    private var isScarce: Bool { shares.free <= shares.reserve + max(1, shares.count / 8) }

    /// How many more jobs of a tenant may come.
    func room(of tenant: Tenant.ID, _ weight: (Tenant.ID) -> Int) -> Int {
        guard full[tenant] == nil else { return 0 }
        return min(
            shares.room(of: tenant, weight: weight(tenant)), memory.jobs(of: tenant, having: shares.count(of: tenant)))
    }

    /// Whether a new job may start before those that wait.
    ///
    /// A job that waits for another host or for the share of its tenant is not overtaken, because it could not start.
    fileprivate mutating func mayStart(
        _ key: OriginQueue.Key?, of tenant: Tenant.ID, _ weight: (Tenant.ID) -> Int
    ) -> Bool {
        let isFull = key.flatMap { indices[$0] }.map { origins[$0].queue.isFull } ?? false
        // What the claim under way brings counts against the limit of its tenant.
        let mayBeFull = isClaiming && shares.isLimited(tenant)
        let isOpen = !isFull && !mayBeFull && (behind.isEmpty || key.map { !behind.contains($0) } ?? true)
        let overtakes = hasBacklog && isScarce
        let hasMemory = memory.jobs(of: tenant, having: shares.count(of: tenant)) > 0
        if isOpen, !overtakes, hasMemory, shares.room(of: tenant, weight: weight(tenant)) > 0 { return true }
        if let key { behind.insert(key) }
        return false
    }

    /// - Returns: Where its origin queue is.
    @discardableResult
    mutating func add(to key: OriginQueue.Key?) -> Int? {
        guard let key else { return nil }
        let index = indices[key] ?? makeOrigin(key)
        let wasFull = origins[index].queue.isFull
        origins[index].queue.add()
        if !wasFull, origins[index].queue.isFull { full[key.tenant, default: 0] += 1 }
        return index
    }

    private mutating func makeOrigin(_ key: OriginQueue.Key) -> Int {
        let index = unused.popLast() ?? origins.endIndex
        let origin = Slots.Origin(key: key, queue: OriginQueue(at: clock.now))
        if index == origins.endIndex { origins.append(origin) } else { origins[index] = origin }
        indices[key] = index
        return index
    }

    mutating func setMaximum(_ maximum: Int, of index: Int) {
        let wasFull = origins[index].queue.isFull
        origins[index].queue.maximum = maximum
        if wasFull { noteRoom(in: index) }
    }

    /// An origin queue that was full may not be any more.
    private mutating func noteRoom(in index: Int) {
        let tenant = origins[index].key.tenant
        guard !origins[index].queue.isFull else { return }
        full[tenant, default: 1] -= 1
        if full[tenant] == 0 { full[tenant] = nil }
    }

    mutating func leave(_ index: Int) {
        let wasFull = origins[index].queue.isFull
        origins[index].queue.remove()
        let key = origins[index].key
        if wasFull { noteRoom(in: index) }
        guard origins[index].queue.count == 0 else { return }
        indices[key] = nil
        unused.append(index)
    }

    /// Where the origin queue of a job is; nil when it is in none.
    func index(of stop: StopSwitch) -> Int? {
        stop.position.withLock { position in
            if position.index == nil, !position.isLent { position.index = stop.originQueue.flatMap { indices[$0] } }
            return position.index
        }
    }

    mutating func noteBacklog() {
        hasBacklog = true
        backlogs += 1
    }

    /// Whether there is something to claim, also of tenants that had to wait.
    mutating func callHeldBack(_ weight: (Tenant.ID) -> Int) -> Bool {
        let called = heldBack.filter { room(of: $0, weight) > 0 }
        guard !called.isEmpty else { return hasBacklog }
        heldBack.subtract(called)
        noteBacklog()
        return true
    }
}
