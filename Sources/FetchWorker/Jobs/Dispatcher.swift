import FetchEngine
package import FetchJobs
package import Logging
import ServiceLifecycle
import Synchronization

/// Runs jobs on this node: takes them as they are stored, claims those that wait, and keeps the node's lease.
package final class Dispatcher: Service, DirectDispatch {
    package struct Configuration: Sendable {
        /// How many jobs of one tenant this node holds at once, from their claim to the end of their transfer, while no
        /// other tenant has any; an eighth more is kept for those that come.
        package var concurrency = 4096
        /// How many jobs more are held while what came of them is stored, their bodies in memory.
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
        package var longestParking = Duration.seconds(3600)

        package init() {}

        var pulseInterval: Duration { lease / 3 }
    }

    let configuration: Configuration
    let queue: any WorkQueue
    let runner: JobRunner
    let courier: (any Wakeable)?
    let keeper: (any Wakeable)?
    let schedules: (any Wakeable)?
    let logger: Logger
    let metrics: WorkerMetrics
    /// Rings when a job's time has come.
    let alarm = Alarm()
    /// Rings when jobs may pass the gates of lanes.
    let gateAlarm = Alarm()
    /// Rings when the lease of another node may have run out.
    let lossAlarm = Alarm()
    /// Rings when jobs that came late may be looked for.
    private let lookAlarm = Alarm()
    let gates = Gates()
    /// Rings when lines are to be looked at.
    let lineAlarm = Alarm()
    let slots: Slots
    let running: RunningJobs
    let quarantine = Quarantine()
    let trials = Signal()
    private let age = QueueAge()
    /// Of the jobs that this node has claimed.
    package let delays = QueueDelays()
    let claims = Signal()
    private let started: AsyncStream<[ClaimedJob]>
    let starts: AsyncStream<[ClaimedJob]>.Continuation
    private let lastPulse = Mutex<ContinuousClock.Instant?>(nil)
    /// Until when this node may be given jobs that it does not know of.
    let doubtUntil = Mutex<ContinuousClock.Instant?>(nil)
    /// Attempts that were given up before they sent anything.
    let unsent = Mutex<[ClaimedJob]>([])

    /// - Parameters:
    ///   - runner: Runs one job, on the executor it names.
    ///   - courier: Is woken when there is an event to deliver.
    ///   - keeper: Is woken when a session or a group may have lost its last job.
    ///   - schedules: Is woken when the time of a schedule is near.
    ///   - metrics: Where the worker's counts are kept.
    package init(
        configuration: Configuration,
        queue: any WorkQueue,
        runner: JobRunner,
        courier: (any Wakeable)?,
        keeper: (any Wakeable)? = nil,
        schedules: (any Wakeable)? = nil,
        metrics registry: MetricsRegistry,
        logger: Logger
    ) {
        self.configuration = configuration
        self.queue = queue
        self.runner = runner
        self.courier = courier
        self.keeper = keeper
        self.schedules = schedules
        self.logger = logger
        metrics = WorkerMetrics(registry)
        slots = Slots(count: configuration.concurrency) { queue.weight(of: $0) }
        running = RunningJobs(slots)
        (started, starts) = AsyncStream.makeStream()
        registry.gauge("fetchd_jobs_running", "Jobs that run here.") { [running, slots] in
            Double(max(0, running.count - slots.waitingCount))
        }
        registry.gauge("fetchd_jobs_waiting_for_host", "Jobs that wait here for a connection.") { [slots] in
            Double(slots.waitingCount)
        }
        registry.gauge("fetchd_jobs_settling", "Jobs that have run here and are being stored.") { [running] in
            Double(running.endingCount)
        }
        registry.gauge("fetchd_jobs_suspended", "Those of them that are held.") { [running] in
            Double(running.suspendedCount)
        }
        registry.gauge(
            "fetchd_queue_oldest_due_age_seconds",
            "How long the job has been due that waits for the longest time, of all tenants that are not paused; 0 for none."
        ) { [age] in age.seconds }
        registry.gauge("fetchd_worker_alive", "1 while this node extends its lease, else 0.") { [weak self] in
            self?.isAlive == true ? 1 : 0
        }
    }

    /// The node has extended its lease lately: its jobs are its own.
    package var isAlive: Bool {
        lastPulse.withLock {
            $0.map { ContinuousClock.now - $0 < configuration.lease } ?? false
        }
    }

    /// How many jobs run here.
    package var runningCount: Int { running.count }

    // MARK: Service

    package func run() async throws {
        await pulse()
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.cancelWhenShuttingDown { await self.keepPulse() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepTidy() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepClaiming() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepSchedule() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepGates() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepRescuing() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepTrials() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.keepLines() } }
                group.addTask { await self.cancelWhenShuttingDown { await self.lookAlarm.run { self.wake() } } }
                group.addTask { await self.limitDrain() }
                // Where jobs run they are awaited, too: they start without a turn between threads.
                await withTaskExecutorPreference(runner.loop.eventLoop) {
                    for await jobs in started {
                        for job in jobs {
                            group.addTask { await self.runner.loop.run { _ in await self.run(job) } }
                        }
                    }
                }
            }
        } onGracefulShutdown: {
            self.slots.close()
            self.starts.finish()
        }
    }

    /// Ends what is left when the drain time is over; the jobs go back to the queue.
    private func limitDrain() async {
        try? await gracefulShutdown()
        await releaseWaiting()
        running.stopSuspended(.drained)
        let deadline = ContinuousClock.now + configuration.drainTimeout
        while running.count > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
        }
        running.stopAll(.drained)
    }

    private func cancelWhenShuttingDown(_ operation: @escaping @Sendable () async -> Void) async {
        await cancelWhenGracefulShutdown { await operation() }
    }

    // MARK: Direct dispatch

    /// A node whose lease may have run out leaves new jobs to others.
    package func reserve(_ jobs: [NewJob]) -> [Bool] { isAlive ? slots.reserve(jobs) : jobs.map { _ in false } }

    package func release(_ jobs: [NewJob]) { slots.release(jobs) }

    package func start(_ jobs: [ClaimedJob]) {
        // Those did not wait.
        for tenant in Set(jobs.map(\.tenant)) { delays.note(.zero, of: tenant) }
        // After the stream has ended the jobs stay claimed until the lease runs out; slots closed before that.
        starts.yield(jobs)
    }

    package func wake() {
        slots.noteBacklog()
        claims.send()
    }

    package func wake(for tenants: Set<Tenant.ID>) {
        if slots.noteBacklog(of: tenants) { claims.send() }
    }

    package func setPace(_ pace: JobPace, of id: Job.ID) { running.setPace(pace, of: id) }

    package func cancel(_ id: Job.ID, _ manner: Cancellation) { running.stop(id, .cancelled(manner)) }

    // MARK: Claiming

    private func keepClaiming() async {
        for await _ in claims.values {
            while let offer = slots.reserveForClaim(maximum: 200), !Task.isCancelled {
                await claim(offer)
                // A claim of one costs about as much as a claim of twenty, so while jobs leave one by one some gather.
                if slots.areScarce { try? await Task.sleep(for: .milliseconds(10)) }
            }
        }
    }

    private func claim(_ offer: Slots.Offer) async {
        do throws(StoreError) {
            let claim = try await queue.claim(upTo: offer.count, room: offer.room)
            slots.assign(claim.jobs, of: offer.count)
            if claim.isLast { slots.noteEmpty(since: offer.backlog, full: claim.full) }
            if !claim.jobs.isEmpty { starts.yield(claim.jobs) }
            noteDelays(of: claim.jobs)
            if !claim.gated.isEmpty { admit(Array(claim.gated)) }
            if let wait = claim.nextLook { lookAlarm.set(after: wait) }
        } catch {
            slots.assign([], of: offer.count)
            doubt()
            slots.noteFailure()
            logger.warning("claiming failed", metadata: ["error": "\(error)"])
        }
    }

    private func noteDelays(of jobs: [ClaimedJob]) {
        var shortest: [Tenant.ID: Duration] = [:]
        for job in jobs {
            if let waited = job.waited { shortest[job.tenant] = min(shortest[job.tenant] ?? waited, waited) }
        }
        for (tenant, waited) in shortest { delays.note(waited, of: tenant) }
    }

    // MARK: Running

    private nonisolated(nonsending) func run(_ job: ClaimedJob) async {
        let stop = running.add(job)
        watchDeadlines()
        let outcome = await outcome(of: job, stop: stop)
        defer {
            running.letGo(of: stop)
            if job.mayHaveBeenLost, quarantine.leave(job.id) { trials.send() }
        }
        running.end(job.id, stop)
        // Another job runs while this one is stored; but when storing takes long, what waits for it takes memory too.
        let limit = min(configuration.settling, configuration.concurrency)
        let leavesEarly = running.endingCount <= limit
        if leavesEarly { leave(stop) }
        if let outcome { await settle(job, outcome) }
        if !leavesEarly { leave(stop) }
    }

    private func leave(_ stop: StopSwitch) {
        if slots.leave(stop) { claims.send() }
    }

    /// What came of the job; nil when it is not ours to say.
    private nonisolated(nonsending) func outcome(of job: ClaimedJob, stop: StopSwitch) async -> JobOutcome? {
        do throws(StoreError) {
            guard try await enterLine(job, stop) else { return nil }
            var isMultiplexed = false
            defer { slots.exit(stop, isMultiplexed: isMultiplexed) }
            let retry = try await runner.retryPolicy(of: job)
            let mayRepeat = retry.mayRepeat(job.spec.request)
            if !mayRepeat {
                guard try await begin(job) else { return nil }
            }
            let outcome = try await runner.run(job, retry, stop: stop)
            isMultiplexed = outcome.isMultiplexed
            switch stop.reason {
            case .leaseLost: return nil
            case .drained where mayRepeat && outcome.state != .succeeded:
                try await queue.release([job])
                return nil
            case .drained where outcome.state == .cancelled: return .interrupted(outcome)
            case .drained, .cancelled, .expired, nil: return outcome
            }
        } catch {
            logger.warning("job given up", metadata: ["job.id": "\(job.id)", "error": "\(error)"])
            doubt()
            return nil
        }
    }

    /// Stores the outcome, however long the database is away: until then the job is not done.
    private nonisolated(nonsending) func settle(_ job: ClaimedJob, _ outcome: JobOutcome) async {
        await heed(outcome, of: job)
        var backoff = Duration.milliseconds(100)
        while !Task.isCancelled {
            do throws(StoreError) {
                if try await retried(job, outcome) { return leave(queue.lanes(of: job)) }
                let isOurs = try await queue.settle(job, outcome)
                leave(queue.lanes(of: job))
                if isOurs, job.spec.mayHaveEvents { courier?.wake() }
                if isOurs, job.spec.session != nil || job.spec.group != nil { keeper?.wake() }
                metrics.count(outcome, isOurs: isOurs)
                log(job, outcome, isOurs: isOurs)
                return
            } catch  where error.code == .unavailable {
                logger.warning("settling waits for the database", metadata: ["job.id": "\(job.id)"])
                try? await Task.sleep(for: backoff)
                backoff = min(backoff * 2, .seconds(5))
            } catch {
                logger.error("settling failed", metadata: ["job.id": "\(job.id)", "error": "\(error)"])
                return await settleRefused(job, outcome)
            }
        }
    }

    // MARK: Lease

    private func keepPulse() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: configuration.pulseInterval)
            guard !Task.isCancelled else { return }
            await pulse()
        }
    }

    private func noteAge(_ hasQueuedJobs: Bool) async {
        if !hasQueuedJobs { return age.note(nil) }
        guard age.isOlder(than: configuration.pulseInterval) else { return }
        let start = ContinuousClock.now
        do throws(StoreError) { age.note(try await queue.oldestDueAge(), since: start) } catch {
            // It goes on growing, and the next pulse asks again.
            logger.debug("the oldest job was not found", metadata: ["error": "\(error)"])
        }
    }

    /// Looks into the queue at once: another node says that there is something to do.
    package func look() async { await pulse() }

    func pulse() async {
        let start = ContinuousClock.now
        do throws(StoreError) {
            let pulse = try await queue.pulse()
            lastPulse.withLock { $0 = .now }
            report(pulse.failures)
            watchNodes(until: pulse.nextLoss)
            if pulse.leaseWasLost {
                running.stopAll(.leaseLost)
                // They may be nobody's: what has no other node stays with this one.
                doubt()
            }
            await rescueUnheld()
            for id in pulse.keepingPartial { running.stop(id, .cancelled(.keepingPartial)) }
            for id in pulse.cancelled { running.stop(id, .cancelled(.plainly)) }
            await setSuspended(pulse.suspended, asOf: start)
            slots.setNodes(pulse.nodes)
            for (id, pace) in pulse.paces { running.setPace(pace, of: id) }
            watchDeadlines()
            if pulse.hasQueuedJobs { wake() } else if pulse.hasDiscretionaryJobs { await useQuietTime() }
            if pulse.hasSuspects { trials.send() }
            if pulse.hasGatedJobs { admit(nil) }
            if pulse.hasJobsToPromote { alarm.set(after: .zero) }
            if pulse.hasDueDeliveries { courier?.wake() }
            if pulse.hasUnsettledEnds { keeper?.wake() }
            if pulse.hasSchedules { schedules?.wake() }
            await noteAge(pulse.hasQueuedJobs)
        } catch {
            logger.warning("the lease was not extended", metadata: ["error": "\(error)"])
        }
    }
}
