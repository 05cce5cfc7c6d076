package import FetchJobs
import Synchronization

/// The jobs that the stores pass to this node's worker, and its free slots.
///
/// It is made before either of them and known to both, so that they need not know each other: jobs go one way, from
/// where they are stored to where they run.
package final class NodeIntake: Intake {
    /// How long a statement may go on after its caller has given up.
    private static let uncertaintyLifetime = Duration.seconds(60)

    package let slots: Slots
    package let running: RunningJobs
    package let gates: Gates
    /// Says that there may be jobs to claim.
    package let claims = Condition()
    /// Says that another node has something to tell.
    package let looks = Condition()
    /// Fires when a job's time has come.
    package let promotionTimer: Timer
    /// Fires when jobs may pass the gates of limiters.
    package let gateTimer: Timer
    /// The jobs that are to run.
    package let started: AsyncStream<[ClaimedJob]>
    private let starts: AsyncStream<[ClaimedJob]>.Continuation
    /// How long the jobs that this node has claimed had waited.
    package let delays = QueueDelays()

    package let clock: NodeClock
    private let lease: Duration
    package let limits: any KnownLimits
    private let lastHeartbeat = Mutex<ContinuousClock.Instant?>(nil)
    private let uncertainUntil = Mutex<ContinuousClock.Instant?>(nil)
    private let workers = Atomic<Int>(1)

    /// - Parameters:
    ///   - concurrency: How many jobs one tenant alone may have here.
    ///   - memory: How many bytes the contents of all jobs may take.
    ///   - lease: How long the node keeps its jobs without a sign of life.
    ///   - limits: The shares of tenants and the crowded hosts, as this node knows them.
    ///   - clock: The clock by which the node waits.
    package init(
        concurrency: Int, memory: Int = .max, lease: Duration, limits: any KnownLimits,
        clock: NodeClock = .continuous
    ) {
        self.clock = clock
        self.lease = lease
        self.limits = limits
        slots = Slots(count: concurrency, memory: memory, clock: clock) { limits.weight(of: $0) }
        running = RunningJobs(slots, clock: clock)
        gates = Gates(clock: clock)
        promotionTimer = Timer(clock: clock)
        gateTimer = Timer(clock: clock)
        (started, starts) = AsyncStream.makeStream()
    }

    // MARK: The node

    /// The node has extended its lease lately: its jobs are its own.
    package var isAlive: Bool { lastHeartbeat.withLock { $0.map { clock.now - $0 < lease } ?? false } }

    /// Whether some node runs jobs, as far as this one knows.
    package var hasLiveWorker: Bool { isAlive && workers.load(ordering: .relaxed) > 0 }

    /// Notes how many nodes run jobs, this one among them if it does.
    package func noteWorkers(_ count: Int) {
        workers.store(count, ordering: .relaxed)
        slots.setNodes(max(1, count))
    }

    package func noteLease() { lastHeartbeat.withLock { $0 = clock.now } }

    /// Another node says that there is something to do.
    package func look() { looks.signal() }

    /// The database may have given this node jobs, or left it some, that it does not know of.
    package func noteUncertainCommit() { uncertainUntil.withLock { $0 = clock.now + Self.uncertaintyLifetime } }

    package var hasUncertainCommits: Bool { uncertainUntil.withLock { $0.map { $0 > clock.now } ?? false } }

    /// Takes no more jobs; the taken ones run on.
    package func close() {
        slots.close()
        starts.finish()
    }

    // MARK: Jobs that are being stored

    /// A node whose lease may have run out leaves new jobs to others.
    package func reserve(_ jobs: [NewJob]) -> [Bool] {
        guard isAlive else { return jobs.map { _ in false } }
        let isReserved = slots.reserve(jobs)
        running.expect(zip(jobs, isReserved).lazy.filter(\.1).map(\.0.id))
        return isReserved
    }

    package func release(_ jobs: [NewJob]) {
        running.forget(jobs.lazy.map(\.id))
        slots.release(jobs)
    }

    package func giveUp(_ jobs: [NewJob]) {
        release(jobs)
        if !jobs.isEmpty { noteUncertainCommit() }
    }

    package func start(_ jobs: [ClaimedJob]) {
        // Those did not wait.
        for tenant in Set(jobs.map(\.tenant)) { delays.note(.zero, of: tenant) }
        run(jobs)
    }

    /// Has jobs run that are this node's.
    package func run(_ jobs: [ClaimedJob]) {
        running.expect(jobs.lazy.map(\.id))
        // After the stream has ended the jobs stay claimed until the lease runs out; slots closed before that.
        starts.yield(jobs)
    }

    // MARK: Jobs that wait

    package func wake() {
        slots.noteBacklog()
        claims.signal()
    }

    package func wake(for tenants: Set<Tenant.ID>) {
        if slots.noteBacklog(of: tenants) { claims.signal() }
    }

    package func wake(after wait: Duration) {
        // A later time comes up with a later heartbeat, on whichever node lives then.
        if wait < lease { promotionTimer.set(after: wait) }
    }

    package func admit(_ limiters: [Limiter.Address]?) {
        gates.note(limiters)
        gateTimer.set(after: .zero)
    }

    // MARK: Jobs that run

    /// Sets how many jobs tenants may run.
    package func setLimits(_ limits: RunningLimits) {
        slots.setLimits(limits)
        claims.signal()
    }

    package func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) { use(running.setSuspended(ids, isSuspended)) }

    /// Gives others the slots that held jobs leave, and the queue those whose loads are not kept.
    package func use(_ lent: Slots.Lent) {
        for stop in lent.surplus { stop.giveBack() }
        if lent.hasWaiting { claims.signal() }
        let crowded = lent.limiters.filter { limits.crowd(of: $0) != nil }
        if !crowded.isEmpty { admit(Array(crowded)) }
    }

    package func setPace(_ pace: JobPace, of id: Job.ID) { running.setPace(pace, of: id) }

    package func cancel(_ id: Job.ID, _ manner: Cancellation) { running.stop(id, .cancelled(manner)) }
}
