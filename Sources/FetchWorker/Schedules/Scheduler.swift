package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle

/// Makes the jobs of schedules when their times come.
///
/// It sleeps until the next time that it knows of; the heartbeats of the node look ahead for the others.
package final class Scheduler: Service {
    /// How many schedules one look finds, and how many of them are dealt with at once.
    private static let (limit, width) = (200, 8)

    private let schedules: any ScheduleQueue
    private let making: ScheduledJobs
    private let check: TemplateCheck
    private let timer: Timer
    private let horizon: Duration
    private let tracer: Tracer?
    private let logger: Logger
    private let clock: NodeClock
    private let runs: (fired: Counter, missed: Counter, refused: Counter, postponed: Counter)
    private let lateness: Histogram

    /// - Parameters:
    ///   - making: Makes the jobs.
    ///   - timer: Is woken when a time is near.
    ///   - horizon: How far ahead times are set; farther ones come up with a later heartbeat, on whichever node lives
    ///     then.
    ///   - metrics: Where times that came are counted.
    ///   - tracer: Takes the spans of times that came, which begin traces; nil for nobody.
    package init(
        schedules: any ScheduleQueue, making: ScheduledJobs, check: TemplateCheck, timer: Timer, horizon: Duration,
        metrics: MetricsRegistry = MetricsRegistry(), tracer: Tracer? = nil, logger: Logger,
        clock: NodeClock = .continuous
    ) {
        self.schedules = schedules
        self.making = making
        self.check = check
        self.timer = timer
        self.horizon = horizon
        self.tracer = tracer
        self.logger = logger
        self.clock = clock
        let outcomes = metrics.counter(.scheduleRuns)
        lateness = metrics.histogram(.scheduleLateness)[]
        runs = (outcomes["fired"], outcomes["missed"], outcomes["refused"], outcomes["postponed"])
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await self.timer.run { await self.fireDue() }
        }
    }

    private func fireDue() async {
        do throws(StoreError) {
            let due = try await schedules.due(limit: Self.limit)
            let look = Look(database: due.now, node: clock.now, clock: clock)
            // In no order, so that nodes that look at the same time deal with different ones.
            var items = due.items.shuffled()[...]
            await withDiscardingTaskGroup { group in
                for _ in 0..<Self.width {
                    let share = items.prefix((due.items.count + Self.width - 1) / Self.width)
                    items = items.dropFirst(share.count)
                    group.addTask { for item in share { await self.fire(item, look) } }
                }
            }
            if due.items.count == Self.limit { timer.notify() }
            if let wait = due.wait, wait < horizon { timer.set(after: wait) }
        } catch {
            // The next heartbeat asks again.
            logger.warning("schedules are not known", metadata: ["error": "\(error)"])
        }
    }

    /// When the database was asked, by its clock and by ours.
    private struct Look {
        let database: Timestamp
        let node: ContinuousClock.Instant
        let clock: NodeClock

        /// How long it is until the database's clock says this.
        func wait(until time: Timestamp) -> Duration {
            .microseconds(time.microseconds - database.microseconds) - (clock.now - node)
        }

        /// How long it has been since the database's clock said this.
        func age(of time: Timestamp) -> Duration { max(.zero, .zero - wait(until: time)) }
    }

    private func fire(_ item: DueSchedules.Item, _ look: Look) async {
        do throws(StoreError) {
            // Nil when another node was first.
            guard let found = try await schedules.schedule(item, dueBy: look.database) else { return }
            try await fire(found, look)
        } catch {
            // It is still due: the next heartbeat finds it again.
            runs.postponed.add()
            logger.warning(
                "schedule postponed",
                metadata: ["schedule.id": "\(item.id)", "tenant.id": "\(item.tenant)", "error": "\(error)"])
        }
    }

    private func fire(_ found: DueSchedule, _ look: Look) async throws(StoreError) {
        let schedule = found.schedule
        let now = look.database
        let due = DueRuns(of: schedule, isBusy: found.isBusy, now: now)
        let made = try await making.jobs(of: schedule, at: due.times) { tracer?.context(below: nil) }
        var (jobs, failure) = ([NewJob](), Schedule.Failure?.none)
        switch made {
        case .success(let all):
            let obstacle = try await obstacle(to: all)
            failure = obstacle.map { Schedule.Failure(at: now, message: $0) }
            if obstacle == nil { jobs = all }
        case .failure(let obstacle): failure = Schedule.Failure(at: now, message: obstacle.message)
        }
        guard try await schedules.fire(schedule, jobs, next: due.next, failure: failure) else { return }
        count(due, failure)
        for job in jobs { if let time = job.spec.scheduledAt { lateness.observe(look.age(of: time)) } }
        record(jobs, of: schedule)
        if let wait = due.next.map(look.wait), wait < horizon { timer.set(after: wait) }
        logger.info(
            "schedule fired",
            metadata: [
                "schedule.id": "\(schedule.id)", "tenant.id": "\(schedule.tenant)",
                "schedule.jobs": "\(jobs.count)",
                "schedule.error": "\(failure?.message ?? "-")",
            ]
        )
    }

    private func obstacle(to jobs: [NewJob]) async throws(StoreError) -> String? {
        for job in jobs { if let obstacle = try await check.obstacle(to: job) { return obstacle } }
        return nil
    }

    /// A span for each job that was made: from the time that it was due until it was stored.
    private func record(_ jobs: [NewJob], of schedule: Schedule) {
        guard let tracer else { return }
        for job in jobs {
            guard let trace = job.spec.trace else { continue }
            var span = Span(
                "schedule", .internal, trace, parent: nil, from: job.spec.scheduledAt ?? .now, to: .now)
            span.set("fetchd.schedule.id", schedule.id.description)
            span.set("fetchd.job.id", job.id.description)
            span.set("fetchd.tenant.id", "\(schedule.tenant)")
            tracer.record(span)
        }
    }

    private func count(_ due: DueRuns, _ failure: Schedule.Failure?) {
        if failure != nil {
            runs.refused.add(due.times.count)
        } else if due.times.isEmpty {
            runs.missed.add()
        } else {
            runs.fired.add(due.times.count)
        }
    }
}
