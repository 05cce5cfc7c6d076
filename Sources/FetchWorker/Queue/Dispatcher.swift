import FetchEngine
package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle
import Synchronization

/// Runs jobs on this node: takes them as they are stored, claims those that wait, and keeps the node's lease.
package final class Dispatcher: Service {
    package struct Configuration: Sendable {
        /// Whether the node runs jobs; if not, it keeps its lease for what else it does.
        package var runsJobs = true
        /// How many jobs of one tenant this node holds at once, from their claim to the end of their transfer, while no
        /// other tenant has any; an eighth more is kept for those that come.
        package var concurrency = 4096
        /// The number of further jobs that are held while their outcomes are stored, with their bodies in memory.
        package var settling = 512
        /// How long this node keeps its jobs without a sign of life; it gives one three times as often.
        package var lease = Duration.seconds(15)
        /// How long running jobs may go on after the node was asked to stop.
        package var drainTimeout = Duration.seconds(20)

        /// How many nodes a job may take down while it runs alone, before it ends as failed.
        package var maximumCrashes = 3

        /// How long jobs are kept once they are final; nil for good.
        package var retention: Duration?
        /// How long a host is left alone at most because one answer asks for it.
        package var longestOpenCircuit = Duration.seconds(3600)

        package init() {}

        var heartbeatInterval: Duration { lease / 3 }
    }

    let configuration: Configuration
    let intake: NodeIntake
    let queue: any WorkQueue
    let runner: JobRunner
    let courier: (any Notifiable)?
    let completionNotifier: CompletionNotifier?
    let schedules: (any Notifiable)?
    private let parkAll: @Sendable () async -> Void
    private let forced: ForcedStop
    let refusals: RefusedTargets
    let logger: Logger
    let metrics: WorkerMetrics
    /// Fires when the lease of another node may have run out.
    let leaseTimer: Timer
    /// Fires when jobs that came late may be looked for.
    private let scanTimer: Timer
    /// Fires when origin queues need a look.
    let originQueueTimer: Timer
    let quarantine: Quarantine
    let trials = Condition()
    private let age: QueueAge
    /// Attempts that were given up before they sent anything.
    let unsent = Mutex<[ClaimedJob]>([])

    var slots: Slots { intake.slots }
    var running: RunningJobs { intake.running }
    var clock: NodeClock { intake.clock }

    /// - Parameters:
    ///   - intake: The intake to which the stores pass jobs.
    ///   - runner: Runs one job, on the executor it names.
    ///   - courier: Is woken when there is an event to deliver.
    ///   - completionNotifier: Is woken when a session or a group may have lost its last job.
    ///   - schedules: Is woken when the time of a schedule is near.
    ///   - forced: Ends the time that running jobs have at a stop.
    ///   - audit: Where refused targets are noted.
    ///   - metrics: Where the worker's counts are kept.
    package init(
        configuration: Configuration,
        intake: NodeIntake,
        queue: any WorkQueue,
        runner: JobRunner,
        courier: (any Notifiable)?,
        completionNotifier: CompletionNotifier? = nil,
        schedules: (any Notifiable)? = nil,
        parkAll: @escaping @Sendable () async -> Void = {},
        forced: ForcedStop = ForcedStop(),
        audit: (any AuditLog)? = nil,
        metrics registry: MetricsRegistry,
        logger: Logger
    ) {
        self.configuration = configuration
        self.intake = intake
        self.queue = queue
        self.runner = runner
        self.courier = courier
        self.completionNotifier = completionNotifier
        self.schedules = schedules
        self.parkAll = parkAll
        self.forced = forced
        refusals = RefusedTargets(registry, audit: audit)
        self.logger = logger
        leaseTimer = Timer(clock: intake.clock)
        scanTimer = Timer(clock: intake.clock)
        originQueueTimer = Timer(clock: intake.clock)
        quarantine = Quarantine(clock: intake.clock)
        age = QueueAge(clock: intake.clock)
        metrics = WorkerMetrics(registry)
        let (slots, running) = (intake.slots, intake.running)
        registry.observe(.jobsRunning) { [running, slots] in Double(max(0, running.count - slots.waitingCount)) }
        registry.observe(.jobsWaitingForHost) { [slots] in Double(slots.waitingCount) }
        registry.observe(.jobsSettling) { [running] in Double(running.endingCount) }
        registry.observe(.jobsSuspended) { [running] in Double(running.suspendedCount) }
        registry.observe(.queueOldestDueAge) { [age] in age.seconds }
        registry.observe(.workerAlive) { [intake] in intake.isAlive ? 1 : 0 }
        let runsJobs = configuration.runsJobs
        if !runsJobs { slots.close() }
        registry.observe(.slots) { [count = configuration.concurrency] in runsJobs ? Double(count) : 0 }
        registry.observe(.slotsFree) { [slots] in runsJobs ? Double(slots.freeCount) : 0 }
    }

    /// How many jobs run here.
    package var runningCount: Int { running.count }

    // MARK: Service

    package func run() async throws {
        await heartbeat()
        await withTaskGroup { lease in
            // As long as a job runs: others would take it otherwise.
            lease.addTask { await self.keepHeartbeat() }
            await work()
            lease.cancelAll()
        }
        // Otherwise it runs out.
        try? await queue.leave()
    }

    /// Runs jobs until a shutdown, and then until those have ended that run.
    private func work() async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.cancelWhenShuttingDown { await self.keepLooking() } }
                if configuration.runsJobs { addWork(to: &group) }
                group.addTask { await self.limitDrain() }
                group.addTask { await self.leaveAsking() }
                // Where jobs run they are awaited, too: they start without a turn between threads.
                await withTaskExecutorPreference(runner.loop.eventLoop) {
                    for await jobs in intake.started {
                        for job in jobs {
                            group.addTask { await self.run(job, on: self.runner.loop) }
                        }
                    }
                }
            }
        } onGracefulShutdown: {
            self.intake.close()
        }
    }

    /// What a node does that runs jobs: those that do not would wake nobody for the jobs that they find.
    private func addWork(to group: inout DiscardingTaskGroup) {
        group.addTask { await self.cancelWhenShuttingDown { await self.keepTidy() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepClaiming() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepSchedule() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepGates() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepRescuing() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepTrials() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.keepOriginQueues() } }
        group.addTask { await self.cancelWhenShuttingDown { await self.scanTimer.run { self.intake.wake() } } }
    }

    /// Ends the remaining jobs when the drain time is over, or the stop is forced; they go back to the queue.
    private func limitDrain() async {
        try? await gracefulShutdown()
        await releaseWaiting()
        running.stopSuspended(.drained)
        let deadline = clock.now + configuration.drainTimeout
        while running.count > 0, clock.now < deadline, !forced.isForced {
            try? await clock.sleep(for: .milliseconds(20))
        }
        running.stopAll(.drained)
    }

    /// Parks the loads that wait for answers, where they can be parked; the others go back to the queue.
    private func leaveAsking() async {
        try? await gracefulShutdown()
        await parkAll()
        running.stopAsking(.drained)
    }

    private func cancelWhenShuttingDown(_ operation: @escaping @Sendable () async -> Void) async {
        await cancelWhenGracefulShutdown { await operation() }
    }

    // MARK: Claiming

    private func keepClaiming() async {
        for await _ in intake.claims.values {
            while let offer = slots.reserveForClaim(maximum: 200), !Task.isCancelled {
                // What a busy loop cannot run yet is better left in the queue than here, where each job has its memory and
                // opens a connection. While it runs the jobs of one claim, the next one is under way.
                async let progress: Void = runner.loop.catchUp(atMost: .milliseconds(100))
                await claim(offer)
                await progress
                // A claim of one costs about as much as a claim of twenty, so while jobs leave one by one some gather.
                if slots.areScarce { try? await clock.sleep(for: .milliseconds(10)) }
            }
        }
    }

    private func claim(_ offer: Slots.Offer) async {
        do throws(StoreError) {
            let claim = try await queue.claim(upTo: offer.count, room: offer.room)
            #if DEBUG
                if !claim.jobs.isEmpty { CrashPoint.claimCommitted.pass() }
            #endif
            slots.assign(claim.jobs, of: offer.count)
            if claim.isLast { slots.noteEmpty(since: offer.backlog, full: claim.full) }
            metrics.count(claim)
            if !claim.jobs.isEmpty { intake.run(claim.jobs) }
            noteDelays(of: claim.jobs)
            if !claim.gated.isEmpty { intake.admit(Array(claim.gated)) }
            if let wait = claim.nextScan { scanTimer.set(after: wait) }
        } catch {
            slots.assign([], of: offer.count)
            intake.noteUncertainCommit()
            slots.noteFailure()
            metrics.countFailedClaim()
            logger.warning("claiming failed", metadata: ["error": "\(error)"])
        }
    }

    private func noteDelays(of jobs: [ClaimedJob]) {
        var shortest: [Tenant.ID: Duration] = [:]
        for job in jobs {
            if let waited = job.waited { shortest[job.tenant] = min(shortest[job.tenant] ?? waited, waited) }
        }
        for (tenant, waited) in shortest { intake.delays.note(waited, of: tenant) }
    }

    // MARK: Running

    /// On the loop of the transfers: what the steps of a job call there goes on without a turn of the loop.
    private func run(_ job: ClaimedJob, on loop: isolated TransferLoop) async {
        let stop = running.add(job)
        watchDeadlines()
        await JobExecution(dispatcher: self, job: job, stop: stop).run()
    }

    /// Few jobs have run and are being stored.
    var hasRoomToSettle: Bool {
        running.endingCount <= min(configuration.settling, configuration.concurrency)
    }

    /// A job leaves its slot.
    func leave(_ stop: StopSwitch) {
        if slots.leave(stop) { intake.claims.signal() }
    }

    /// The node does not answer for a job any more.
    func letGo(of job: ClaimedJob, _ stop: StopSwitch) {
        running.letGo(of: stop)
        if job.mayHaveBeenLost, quarantine.leave(job.id) { trials.signal() }
    }

    // MARK: Lease

    private func keepHeartbeat() async {
        while !Task.isCancelled {
            // Once the lease has run out, each moment without it is one without work.
            let interval = configuration.heartbeatInterval
            try? await clock.sleep(for: intake.isAlive ? interval : min(interval, .seconds(1)))
            guard !Task.isCancelled else { return }
            await heartbeat()
        }
    }

    private func noteAge(_ hasQueuedJobs: Bool) async {
        if !hasQueuedJobs { return age.note(nil, since: clock.now) }
        guard age.isOlder(than: configuration.heartbeatInterval) else { return }
        let start = clock.now
        do throws(StoreError) { age.note(try await queue.oldestDueAge(), since: start) } catch {
            // It goes on growing, and the next heartbeat asks again.
            logger.debug("the oldest job was not found", metadata: ["error": "\(error)"])
        }
    }

    /// Looks into the queue at once when another node says that there is something to do.
    private func keepLooking() async {
        for await _ in intake.looks.values {
            // After an outage of the database, the first to hear of its end extends the lease.
            if intake.isAlive { await look() } else { await heartbeat() }
        }
    }

    /// Extends the lease, and does what is due.
    package func heartbeat() async {
        let start = clock.now
        do throws(StoreError) {
            let heartbeat = try await queue.heartbeat()
            intake.noteLease()
            if heartbeat.leaseWasLost {
                running.stopAll(.leaseLost)
                // They may belong to no node; those stay with this one.
                intake.noteUncertainCommit()
            }
            await act(on: heartbeat, readAt: start)
        } catch {
            logger.warning("the lease was not extended", metadata: ["error": "\(error)"])
        }
    }

    /// Does what is due, without a write for the node itself: notices may be many.
    private func look() async {
        let start = clock.now
        do throws(StoreError) {
            await act(on: try await queue.look(), readAt: start)
        } catch {
            // The next heartbeat asks again.
            logger.debug("a notice was not followed", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter start: When the database was not yet asked.
    private func act(on heartbeat: Heartbeat, readAt start: ContinuousClock.Instant) async {
        report(heartbeat.failures)
        watchNodes(until: heartbeat.nextLoss)
        await reconcile()
        for id in heartbeat.keepingPartial { running.stop(id, .cancelled(.keepingPartial)) }
        for id in heartbeat.cancelled { running.stop(id, .cancelled(.plainly)) }
        setSuspended(heartbeat.suspended, asOf: start)
        intake.noteWorkers(heartbeat.workers)
        for (id, pace) in heartbeat.paces { running.setPace(pace, of: id) }
        watchDeadlines()
        if heartbeat.hasQueuedJobs {
            intake.wake()
        } else if heartbeat.hasDiscretionaryJobs, configuration.runsJobs {
            await useQuietTime()
        }
        if heartbeat.hasSuspects { trials.signal() }
        if heartbeat.hasGatedJobs { intake.admit(nil) }
        if heartbeat.hasJobsToPromote { intake.promotionTimer.set(after: .zero) }
        if heartbeat.hasDueDeliveries { courier?.notify() }
        if heartbeat.hasUnsettledEnds { completionNotifier?.notify() }
        if heartbeat.hasSchedules { schedules?.notify() }
        await noteAge(heartbeat.hasQueuedJobs)
    }
}
