import FetchEngine
package import FetchJobs
package import Logging
import ServiceLifecycle
import Synchronization

/// Runs jobs on this node: takes them as they are stored, claims those that wait, and keeps the node's lease.
package final class Dispatcher: Service, DirectDispatch {
    package struct Configuration: Sendable {
        /// How many jobs this node holds at once, from their claim to the end of their transfer; and as many again while
        /// what came of them is stored.
        package var concurrency = 512
        /// How long this node keeps its jobs without a sign of life; it gives one three times as often.
        package var lease = Duration.seconds(15)
        /// How long running jobs may go on after the node was asked to stop.
        package var drainTimeout = Duration.seconds(20)

        /// How many nodes a job may take down while it runs alone, before it ends as failed.
        package var maximumCrashes = 3

        /// How long jobs are kept once they are final; nil for good.
        package var retention: Duration?

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
    /// Rings when jobs that came late may be looked for.
    private let lookAlarm = Alarm()
    let gates = Gates()
    let places: Places
    let running = RunningJobs()
    let suspects = SuspectPlace()
    private let age = QueueAge()
    let claims = Signal()
    private let started: AsyncStream<[ClaimedJob]>
    private let starts: AsyncStream<[ClaimedJob]>.Continuation
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
        places = Places(count: configuration.concurrency)
        (started, starts) = AsyncStream.makeStream()
        registry.gauge("fetchd_jobs_running", "Jobs that run here.") { [running] in Double(running.count) }
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
            self.places.close()
            self.starts.finish()
        }
    }

    /// Ends what is left when the drain time is over; the jobs go back to the queue.
    private func limitDrain() async {
        try? await gracefulShutdown()
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
    package func reserve(_ count: Int) -> Int { isAlive ? places.reserve(upTo: count) : 0 }

    package func release(_ count: Int) { places.leave(count) }

    package func start(_ jobs: [ClaimedJob]) {
        // After the stream has ended the jobs stay claimed until the lease runs out; places closed before that.
        starts.yield(jobs)
    }

    package func wake() {
        places.noteBacklog()
        claims.send()
    }

    package func setPace(_ pace: JobPace, of id: Job.ID) { running.setPace(pace, of: id) }

    package func cancel(_ id: Job.ID, _ manner: Cancellation) { running.stop(id, .cancelled(manner)) }

    // MARK: Claiming

    private func keepClaiming() async {
        for await _ in claims.values {
            while let (free, backlog) = places.reserveForClaim(maximum: 200), !Task.isCancelled {
                await claim(free, since: backlog)
                // A claim of one costs about as much as a claim of twenty, so while jobs leave one by one some gather.
                if places.areScarce { try? await Task.sleep(for: .milliseconds(10)) }
            }
        }
    }

    private func claim(_ free: Int, since backlog: Int) async {
        do throws(StoreError) {
            let claim = try await queue.claim(upTo: free)
            places.leave(free - claim.jobs.count)
            if claim.isLast { places.noteEmpty(since: backlog) }
            if !claim.jobs.isEmpty { starts.yield(claim.jobs) }
            if !claim.gated.isEmpty { admit(Array(claim.gated)) }
            if let wait = claim.nextLook { lookAlarm.set(after: wait) }
        } catch {
            giveUp(free)
            places.noteFailure()
            logger.warning("claiming failed", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Running

    private nonisolated(nonsending) func run(_ job: ClaimedJob) async {
        let stop = running.add(job)
        watchDeadlines()
        let outcome = await outcome(of: job, stop: stop)
        defer { running.letGo(of: stop) }
        // One that was held has left its place before.
        let hasPlace = !running.end(job.id, stop)
        // Another job runs while this one is stored; but when storing takes long, what waits for it takes memory too.
        let leavesEarly = hasPlace && running.endingCount <= configuration.concurrency
        if leavesEarly { leavePlace() }
        if let outcome { await settle(job, outcome) }
        if hasPlace, !leavesEarly { leavePlace() }
    }

    private func leavePlace() {
        if places.leave() { claims.send() }
    }

    /// What came of the job; nil when it is not ours to say.
    private nonisolated(nonsending) func outcome(of job: ClaimedJob, stop: StopSwitch) async -> JobOutcome? {
        do throws(StoreError) {
            let retry = try await runner.retryPolicy(of: job)
            let mayRepeat = retry.mayRepeat(job.spec.request)
            if !mayRepeat {
                guard try await begin(job) else { return nil }
            }
            guard let outcome = try await runGuarded(job, retry, stop: stop) else { return nil }
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
            if pulse.leaseWasLost {
                running.stopAll(.leaseLost)
                // They may be nobody's: what has no other node stays with this one.
                doubt()
            }
            await rescueUnheld()
            for id in pulse.keepingPartial { running.stop(id, .cancelled(.keepingPartial)) }
            for id in pulse.cancelled { running.stop(id, .cancelled(.plainly)) }
            await setSuspended(pulse.suspended, asOf: start)
            for (id, pace) in pulse.paces { running.setPace(pace, of: id) }
            watchDeadlines()
            if pulse.hasQueuedJobs { wake() } else if pulse.hasDiscretionaryJobs { try await useQuietTime() }
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
