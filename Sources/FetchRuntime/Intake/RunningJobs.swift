package import FetchJobs
import Synchronization

/// The jobs that run on this node, and the switch that stops or holds each.
package final class RunningJobs: Sendable {
    fileprivate struct State {
        var switches: [Job.ID: StopSwitch] = [:]
        /// The jobs that are being stored as this node's, or are about to run.
        var coming: Set<Job.ID> = []
        /// The jobs that have run and are not settled yet.
        var ending: [ObjectIdentifier: Job.ID] = [:]
        var suspended: Set<Job.ID> = []
        /// When jobs are given up that do not go on for good.
        var deadlines: [Job.ID: Timestamp] = [:]
        /// When the held jobs were last set.
        var saidAt: ContinuousClock.Instant
    }

    private let slots: Slots
    private let clock: NodeClock
    private let state: Mutex<State>

    init(_ slots: Slots, clock: NodeClock = .continuous) {
        self.slots = slots
        self.clock = clock
        state = Mutex(State(saidAt: clock.now))
    }

    package var count: Int { state.withLock { $0.switches.count } }

    /// The number of jobs that have run and are being stored.
    package var endingCount: Int { state.withLock { $0.ending.count } }

    package var suspendedCount: Int { state.withLock { $0.suspended.count } }

    /// Jobs that will run here, unless they are forgotten.
    func expect(_ ids: some Sequence<Job.ID>) { state.withLock { $0.coming.formUnion(ids) } }

    func forget(_ ids: some Sequence<Job.ID>) { state.withLock { $0.coming.subtract(ids) } }

    package func add(_ job: ClaimedJob) -> StopSwitch {
        let stop = StopSwitch(
            tenant: job.tenant, originQueue: job.originQueue, bytesInMemory: job.bytesInMemory)
        state.withLock { state in
            state.coming.remove(job.id)
            state.switches[job.id] = stop
            state.deadlines[job.id] = job.expiresAt
        }
        return stop
    }

    /// All that this node answers for.
    package var ids: Set<Job.ID> { state.withLock { $0.coming.union($0.switches.keys).union($0.ending.values) } }

    /// The job has run; this node answers for it until it is released.
    package func end(_ id: Job.ID, _ stop: StopSwitch) {
        state.withLock { state in
            state.ending[ObjectIdentifier(stop)] = id
            // A job that was lost for a while may be here again.
            guard state.switches[id] === stop else { return }
            state.switches[id] = nil
            state.deadlines[id] = nil
            state.suspended.remove(id)
        }
    }

    package func letGo(of stop: StopSwitch) { state.withLock { $0.ending[ObjectIdentifier(stop)] = nil } }

    package func stop(_ id: Job.ID, _ reason: StopSwitch.Reason) {
        state.withLock { $0.switches[id] }?.stop(reason)
    }

    package func stopAll(_ reason: StopSwitch.Reason) {
        for stop in state.withLock({ Array($0.switches.values) }) { stop.stop(reason) }
    }

    /// Stops those that are held: they would not end by themselves.
    package func stopSuspended(_ reason: StopSwitch.Reason) {
        let suspended = state.withLock { state in state.suspended.compactMap { state.switches[$0] } }
        for stop in suspended { stop.stop(reason) }
    }

    /// Stops those whose delegates are asked: the answer may be days away.
    package func stopAsking(_ reason: StopSwitch.Reason) {
        let all = state.withLock { Array($0.switches.values) }
        for stop in all where stop.position.withLock(\.isAsking) { stop.stop(reason) }
    }

    package func setPace(_ pace: JobPace, of id: Job.ID) { state.withLock { $0.switches[id] }?.setPace(pace) }

    // MARK: Deadlines

    /// The time until the first deadline that has not passed; nil when there is none.
    package func untilDeadline() -> Duration? {
        let now = clock.date
        return state.withLock { $0.deadlines.values.filter { $0 > now }.min() }
            .map { .microseconds($0.microseconds - now.microseconds) }
    }

    /// Stops jobs whose time is over: while one is held, its transfer's own times stand still.
    package func stopExpired() {
        let now = clock.date
        let expired = state.withLock { state in
            state.deadlines.filter { $0.value <= now }.keys.compactMap { state.switches[$0] }
        }
        for stop in expired { stop.stop(.expired) }
    }

    // MARK: Holding

    /// Holds jobs of a tenant, or lets them go on as soon as they have slots.
    ///
    /// - Returns: The slots that others may have now.
    package func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) -> Slots.Lent {
        state.withLock { state in
            state.saidAt = clock.now
            return slots.lend(ids.compactMap { state.setSuspended($0, isSuspended) }, isSuspended)
        }
    }

    /// Holds exactly these jobs.
    ///
    /// - Parameter time: A time before this was asked for; later requests count for more.
    /// - Returns: The slots that others may have now; nil when a later request was made already.
    package func setSuspended(only ids: Set<Job.ID>, asOf time: ContinuousClock.Instant) -> Slots.Lent? {
        state.withLock { state in
            guard state.saidAt <= time else { return nil }
            state.saidAt = time
            // Those that go on are the first to have the slots that the others leave.
            let resumed = state.suspended.subtracting(ids).compactMap { state.setSuspended($0, false) }
            _ = slots.lend(resumed, false)
            return slots.lend(ids.compactMap { state.setSuspended($0, true) }, true)
        }
    }
}

extension RunningJobs.State {
    /// - Returns: The switch of the job, unless nothing changes.
    fileprivate mutating func setSuspended(_ id: Job.ID, _ isSuspended: Bool) -> StopSwitch? {
        guard let stop = switches[id], suspended.contains(id) != isSuspended else { return nil }
        if isSuspended { suspended.insert(id) } else { suspended.remove(id) }
        return stop
    }
}
