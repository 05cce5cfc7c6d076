import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct ScheduleStoreTests {
    private func spec(_ more: String = "", job: String = "") throws -> ScheduleSpec {
        let text = #"{"interval": 60, "job": {"request": "https://origin.example/a"\#(job)}\#(more)}"#
        return try ScheduleSpec(json: JSONParser.parse(text.utf8))
    }

    private func store(_ fixture: StoreFixture, _ node: Int = 0) -> PostgresScheduleStore {
        PostgresScheduleStore(client: fixture.database.client, jobs: fixture.store(node), keys: fixture.keys)
    }

    /// A schedule whose time has come.
    private func due(_ fixture: StoreFixture, _ spec: ScheduleSpec) async throws -> Schedule {
        let new = Schedule(tenant: fixture.tenant, spec: spec, createdAt: .now.advanced(by: .seconds(-61)))
        guard case .created(let schedule) = try await store(fixture).create(new, nil) else {
            throw StoreError(.failed, "not created")
        }
        return schedule
    }

    /// The schedules that are due, as they are now.
    private func read(
        _ look: DueSchedules, _ store: PostgresScheduleStore
    ) async throws -> [DueSchedule] {
        var found: [DueSchedule] = []
        for item in look.items {
            if let schedule = try await store.schedule(item, dueBy: look.now) { found.append(schedule) }
        }
        return found
    }

    private func due(_ store: PostgresScheduleStore) async throws -> [DueSchedule] {
        try await read(try await store.due(limit: 9), store)
    }

    @Test func `a schedule is stored, found, changed once and removed`() async throws {
        try await StoreFixture.with { fixture in
            let store = store(fixture)
            var schedule = try await due(fixture, try spec(#", "labels": {"a": "1"}"#))
            let found = try #require(try await store.schedule(schedule.id, of: fixture.tenant))
            #expect(found.spec == schedule.spec && found.nextRunAt == schedule.nextRunAt && found.runs == 0)
            #expect(try await store.schedule(schedule.id, of: Tenant.ID(rawValue: 2)) == nil)
            #expect(try await store.schedules(of: Tenant.ID(rawValue: 2), after: nil, limit: 9).isEmpty)
            schedule.setPaused(true, at: .now)
            let paused = try #require(try await store.update(schedule))
            #expect(paused.version == 2 && paused.pausedAt != nil && paused.nextRunAt == nil)
            #expect(try await store.update(schedule) == nil)
            #expect(try await store.due(limit: 9).items.isEmpty)
            let second = try await due(fixture, try spec())
            let all = try await store.schedules(of: fixture.tenant, after: nil, limit: 9)
            #expect(all.map(\.id) == [second.id, schedule.id])
            let rest = try await store.schedules(of: fixture.tenant, after: second.id, limit: 9)
            #expect(rest.map(\.id) == [schedule.id])
            #expect(try await store.remove(schedule.id, of: Tenant.ID(rawValue: 2)) == false)
            #expect(try await store.remove(schedule.id, of: fixture.tenant))
            #expect(try await store.remove(schedule.id, of: fixture.tenant) == false)
        }
    }

    @Test func `a key makes one schedule`() async throws {
        try await StoreFixture.with { fixture in
            let key = { Idempotency(key: "k", fingerprint: SHA256Digest(of: [$0])) }
            let new = { Schedule(tenant: fixture.tenant, spec: try spec()) }
            guard case .created(let first) = try await store(fixture).create(try new(), key(1)),
                case .replayed(let again) = try await store(fixture).create(try new(), key(1)),
                case .conflict = try await store(fixture).create(try new(), key(2))
            else { throw StoreError(.failed, "not as expected") }
            #expect(first.id == again.id)
            #expect(try await fixture.count("schedules") == 1)
            // The key is for one request, whatever that makes.
            let job = try NewJob.make(key: "k", fingerprint: 1)
            #expect(try await fixture.store().enqueue([job]) == [.conflict])
        }
    }

    @Test func `of nodes that look at the same time one makes the job`() async throws {
        try await StoreFixture.with { fixture in
            let schedule = try await due(fixture, try spec())
            #expect(try await fixture.queue().heartbeat().hasSchedules)
            let looks = [try await store(fixture, 0).due(limit: 9), try await store(fixture, 1).due(limit: 9)]
            var found: [DueSchedule] = []
            for (node, look) in looks.enumerated() { found += try await read(look, store(fixture, node)) }
            #expect(found.map(\.isBusy) == [false, false])
            let fired = try await withThrowingTaskGroup(of: Bool.self) { group in
                for (node, found) in found.enumerated() {
                    let runs = DueRuns(of: found.schedule, isBusy: false, now: looks[node].now)
                    let jobs = runs.times.map { found.schedule.job(at: $0) }
                    group.addTask {
                        try await store(fixture, node).fire(found.schedule, jobs, next: runs.next, failure: nil)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(fired.sorted { $0 && !$1 } == [true, false])
            #expect(try await read(looks[1], store(fixture, 1)).isEmpty)
            #expect(try await fixture.count("jobs") == 1)
            let after = try #require(try await store(fixture).schedule(schedule.id, of: fixture.tenant))
            #expect(after.runs == 1 && after.lastRunAt == schedule.nextRunAt)
            #expect(after.nextRunAt == schedule.nextRunAt?.advanced(by: .seconds(60)))
            let look = try await store(fixture).due(limit: 9)
            #expect(look.items.isEmpty && look.wait.map { $0 > .seconds(50) && $0 <= .seconds(60) } == true)

            var filter = JobFilter()
            filter.schedule = schedule.id
            let made = try await fixture.store().jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 9))
            #expect(made.map(\.id) == [after.lastJob])
            let job = try #require(try await fixture.store().job(made[0].id, of: fixture.tenant))
            #expect(job.storedSpec?.schedule == schedule.id && job.storedSpec?.scheduledAt == schedule.nextRunAt)
        }
    }

    @Test func `a schedule whose job is not final says so`() async throws {
        try await StoreFixture.with { fixture in
            let schedule = try await due(fixture, try spec())
            let job = schedule.job(at: nil)
            #expect(try await store(fixture).run(schedule, job) == .accepted(job.id))
            #expect(try await due(store(fixture)).map(\.isBusy) == [true])
            // A look from before knows nothing of it: the job would be one too many.
            #expect(try await store(fixture).fire(schedule, [schedule.job(at: .now)], next: nil, failure: nil) == false)
            let claimed = try await fixture.queue().claim(limit: 9)
            #expect(claimed.map(\.id) == [job.id])
            #expect(try await fixture.queue().settle(claimed[0], .make()))
            #expect(try await due(store(fixture)).map(\.isBusy) == [false])
        }
    }

    @Test func `a schedule tells why its job was not made, and that the next one was`() async throws {
        try await StoreFixture.with { fixture in
            let store = store(fixture)
            let schedule = try await due(fixture, try spec())
            let failure = Schedule.Failure(at: Timestamp(microseconds: 1_800_000_000_000_000), message: "is gone")
            #expect(try await store.fire(schedule, [], next: schedule.nextRunAt, failure: failure))
            let failed = try #require(try await due(store).first?.schedule)
            #expect(failed.lastError == failure && failed.runs == 0 && failed.lastJob == nil)
            #expect(try await store.fire(failed, [failed.job(at: .now)], next: nil, failure: nil))
            let mended = try #require(try await store.schedule(schedule.id, of: fixture.tenant))
            #expect(mended.lastError == nil && mended.runs == 1 && mended.nextRunAt == nil)
        }
    }

    @Test func `a session that has ended just now is told as the reason`() async throws {
        try await StoreFixture.with { fixture in
            let schedule = try await due(fixture, try spec(job: #", "session": "\#(TenantSession.ID())""#))
            let job = schedule.job(at: .now)
            #expect(try await store(fixture).fire(schedule, [job], next: .now, failure: nil) == false)
            let failed = try #require(try await store(fixture).schedule(schedule.id, of: fixture.tenant))
            #expect(failed.lastError?.message == "/job/session is invalidated" && failed.runs == 0)
            #expect(try await fixture.count("jobs") == 0)
        }
    }

    // R3
    @Test func `a schedule that cannot be read any more rests and holds up no others`() async throws {
        try await StoreFixture.with { fixture in
            let broken = try await due(fixture, try spec())
            try await fixture.database.client.query(
                "UPDATE schedules SET spec = '{\"interval\": 0}' WHERE id = \(broken.id)")
            let good = try await due(fixture, try spec())
            // No spec is read before its schedule's turn.
            #expect(try await store(fixture).due(limit: 9).items.count == 2)
            #expect(try await due(store(fixture)).map(\.schedule.id) == [good.id])
            #expect(try await store(fixture).due(limit: 9).items.map(\.id) == [good.id])
            let rows = try await fixture.database.client.query(
                "SELECT last_error, next_run_at IS NULL FROM schedules WHERE id = \(broken.id)")
            #expect(try rows.first?.decode(String.self, at: 0).contains("/interval") == true)
            #expect(try rows.first?.decode(Bool.self, at: 1) == true)
        }
    }
}
