import FetchJobs
import FetchRuntime
import Logging
import TestSupport
import Testing

@testable import FetchWorker

/// Which jobs are made when, by a clock that the test moves.
@Suite struct SchedulerTests {
    private let clock = ManualClock()
    private let jobs = MemoryJobStore()
    private let schedules: MemoryScheduleStore
    private let groups = MemoryURLGroupStore()

    init() { schedules = MemoryScheduleStore(jobs: jobs) { [clock] in clock.date } }

    /// Runs a test over nodes that share the store; each is woken by its timer.
    private func with(nodes: Int = 1, _ body: ([Timer]) async throws -> Void) async throws {
        let timers = (0..<nodes).map { _ in Timer(clock: clock.clock) }
        let check = TemplateCheck(
            sessions: MemorySessionStore(jobs: jobs), endpoints: MemoryWebhookStore(),
            credentials: MemoryCredentialCatalog(),
            catalog: MemoryBlobCatalog(jobs: jobs))
        try await withThrowingTaskGroup { tasks in
            for timer in timers {
                let making = ScheduledJobs(groups: groups) { spec, endpoint in
                    spec.labels.append(JobSpec.Label(name: "endpoint", value: endpoint.name ?? "none"))
                }
                let scheduler = Scheduler(
                    schedules: schedules, making: making, check: check, timer: timer, horizon: .seconds(15),
                    logger: .silent, clock: clock.clock)
                tasks.addTask { try await scheduler.run() }
            }
            try await body(timers)
            tasks.cancelAll()
        }
    }

    private func create(
        _ members: String, job: String = #"{"request": "https://origin.example/a"}"#, ago: Duration = .zero
    ) async throws -> Schedule {
        let text = #"{\#(members), "job": \#(job)}"#
        let schedule = Schedule(
            tenant: .first, spec: try ScheduleSpec(json: JSONParser.parse(text.utf8)),
            createdAt: clock.date.advanced(by: .zero - ago))
        _ = try await schedules.create(schedule, nil)
        return schedule
    }

    private func stored(_ schedule: Schedule) async throws -> Schedule {
        try #require(try await schedules.schedule(schedule.id, of: .first))
    }

    private func wait(until time: Timestamp?) throws -> Duration {
        .microseconds(try #require(time).microseconds - clock.date.microseconds)
    }

    @Test func `a job is made when its time has come, and no earlier`() async throws {
        let schedule = try await create(#""interval": 10"#)
        try await with { timers in
            timers[0].notify()
            for run in 1...3 {
                let time = try await stored(schedule).nextRunAt
                let wait = try wait(until: time)
                await clock.untilAsleep(for: wait)
                clock.advance(by: wait - .milliseconds(1))
                #expect(jobs.count == run - 1)
                clock.advance(by: .milliseconds(1))
                try await until { try await stored(schedule).runs == run }
                #expect(jobs.count == run)
                #expect(try await stored(schedule).lastRunAt == time)
            }
        }
    }

    @Test(arguments: [("runAll", 3), ("runOnce", 1), ("skip", 0)])
    func `of times that no node was there for as many are made up for as its client wants`(
        _ missed: String, _ count: Int
    ) async throws {
        // They passed 155, 95 and 35 seconds ago.
        let schedule = try await create(#""interval": 60, "missedRuns": "\#(missed)""#, ago: .seconds(215))
        try await with { timers in
            timers[0].notify()
            try await until { try await stored(schedule).nextRunAt != schedule.nextRunAt }
            let found = try await stored(schedule)
            #expect(jobs.count == count && found.runs == count)
            #expect(try wait(until: found.nextRunAt) > .zero)
        }
    }

    @Test func `of nodes that look at the same time one makes the job`() async throws {
        let schedule = try await create(#""interval": 60"#, ago: .seconds(90))
        try await with(nodes: 4) { timers in
            for timer in timers { timer.notify() }
            try await until { try await stored(schedule).runs == 1 }
            // Each of them looks once more.
            for timer in timers { timer.notify() }
            clock.advance(by: try wait(until: try await stored(schedule).nextRunAt))
            for timer in timers { timer.notify() }
            try await until { try await stored(schedule).runs == 2 }
        }
        #expect(jobs.count == 2)
    }

    @Test func `what is farther away than the horizon is left to a later heartbeat, on whichever node`() async throws {
        let far = try await create(#""interval": 3600"#)
        let once = try await create(#""interval": 10, "endsAt": "\#(clock.date.advanced(by: .seconds(15)))""#)
        try await with { timers in
            timers[0].notify()
            let wait = try wait(until: once.nextRunAt)
            await clock.untilAsleep(for: wait)
            clock.advance(by: wait)
            try await until { try await stored(once).runs == 1 }
            // Nobody waits for the other one's time.
            #expect(clock.sleeperCount == 0)
            clock.advance(by: .seconds(3600))
            #expect(try await stored(far).runs == 0)
            timers[0].notify()
            try await until { try await stored(far).runs == 1 }
        }
    }

    @Test func `a job is made for each URL that a group has when the time comes, and none where there is no group`()
        async throws
    {
        let job = #"{"request": "\#(ScheduleSpec.urlOfGroups)"}"#
        let schedule = try await create(#""interval": 10, "urlGroup": "g""#, job: job, ago: .seconds(15))
        try await with { timers in
            timers[0].notify()
            try await until { try await stored(schedule).lastError != nil }
            #expect(try await stored(schedule).lastError?.message == "/urlGroup is not a URL group of yours")
            let endpoints = [
                URLGroup.Endpoint(url: "https://a.example/?q", name: "first"), .init(url: "http://b.example/"),
            ]
            #expect(try await groups.add(endpoints, toURLGroup: "g", of: .first))
            clock.advance(by: try wait(until: try await stored(schedule).nextRunAt))
            timers[0].notify()
            try await until { try await stored(schedule).runs == 2 }
            let list = try await jobs.jobs(of: .first, matching: JobFilter(), page: JobPage(limit: 10))
            let made = try await jobs.jobs([.first: Set(list.map(\.id))]).compactMap(\.storedSpec)
            let seen = made.map { "\($0.request.url) \($0.labels.map(\.value))" }.sorted()
            #expect(seen == [#"http://b.example/ ["none"]"#, #"https://a.example/?q ["first"]"#])
            #expect(Set(made.map(\.schedule)) == [schedule.id])
            #expect(try await stored(schedule).lastError == nil)
        }
    }

    @Test func `a job whose session is gone is not made, which is told, and the schedule goes on`() async throws {
        let job = #"{"request": "https://origin.example/a", "session": "\#(TenantSession.ID())"}"#
        let schedule = try await create(#""interval": 10"#, job: job, ago: .seconds(15))
        try await with { timers in
            timers[0].notify()
            try await until { try await stored(schedule).lastError != nil }
            let found = try await stored(schedule)
            #expect(found.lastError?.message == "/job/session is not a session of yours")
            #expect(found.runs == 0 && jobs.count == 0)
            #expect(try wait(until: found.nextRunAt) > .zero)
        }
    }
}
