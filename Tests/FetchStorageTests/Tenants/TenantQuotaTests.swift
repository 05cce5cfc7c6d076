import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import Synchronization
import TestSupport
import Testing

/// How many jobs of a tenant may wait (R3).
@Suite struct TenantQuotaTests {
    private func store(
        _ fixture: StoreFixture, _ quotas: TenantQuota, node: Int = 0, intake: (any Intake)? = nil
    ) -> PostgresJobStore {
        PostgresJobStore(
            client: fixture.database.client, genericPlan: fixture.database.genericPlan, keys: fixture.keys,
            node: fixture.nodes[node], limiters: fixture.limiters[node],
            quotas: quotas, intake: intake, waiters: fixture.waiters, announce: { _ in })
    }

    private func quotas(_ fixture: StoreFixture, _ standard: Int64? = nil) -> TenantQuota {
        let limits = KnownTenantLimits(standard: standard.map { [.maximumWaitingJobs: $0] } ?? [:])
        return .waitingJobs(of: limits, client: fixture.database.client)
    }

    private func jobs(_ count: Int, of tenant: Int64 = 1, key: String? = nil) throws -> [NewJob] {
        try (0..<count).map { number in
            let spec = try JobSpec.make()
            let idempotency = key.map { Idempotency(key: "\($0)/\(number)", fingerprint: SHA256Digest(of: spec.json)) }
            return NewJob(tenant: Tenant.ID(rawValue: tenant), spec: spec, idempotency: idempotency)
        }
    }

    private func takes(_ jobs: [NewJob], _ store: PostgresJobStore) async throws -> Bool {
        try await store.enqueue(jobs).allSatisfy { $0.isAccepted }
    }

    // Proves: SEC-45.
    @Test func `what goes beyond the quota is refused, what came before is kept, and others are not concerned`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let store = store(fixture, quotas(fixture, 5))
            let first = try jobs(3)
            #expect(try await store.enqueue(first) == first.map { .accepted($0.id) })
            let more = try jobs(4)
            let full = Enqueued.queueFull(quota: 5)
            #expect(
                try await store.enqueue(more) == [.accepted(more[0].id), .accepted(more[1].id), full, full])
            #expect(try await store.enqueue(try jobs(1)) == [full])
            #expect(try await takes(try jobs(5, of: 2), store))
            #expect(try await fixture.count("queue WHERE tenant_id = 1") == 5)
            #expect(try await fixture.count("jobs WHERE tenant_id = 1") == 5)
        }
    }

    @Test func `there is room again when jobs have started, on whichever node`() async throws {
        try await StoreFixture.with { fixture in
            let store = store(fixture, quotas(fixture, 2))
            _ = try await store.enqueue(try jobs(2))
            #expect(try await store.enqueue(try jobs(1)) == [.queueFull(quota: 2)])
            #expect(try await fixture.queue(1).claim(limit: 1).count == 1)
            try await until { try await takes(try jobs(1), store) }
            #expect(try await fixture.count("queue WHERE node_id IS NULL") == 2)
        }
    }

    @Test func `a repeated request is answered as ever when the queue is full`() async throws {
        try await StoreFixture.with { fixture in
            let store = store(fixture, quotas(fixture, 2))
            let first = try jobs(2, key: "k")
            _ = try await store.enqueue(first)
            #expect(try await store.enqueue(try jobs(2, key: "k")) == first.map { .replayed($0.id) })
            #expect(try await store.enqueue(try jobs(2, key: "l")) == [.queueFull(quota: 2), .queueFull(quota: 2)])
            _ = try await fixture.queue().claim(limit: 2)
            // The key stands for nothing that was refused.
            try await until { try await takes(try jobs(2, key: "l"), store) }
        }
    }

    @Test func `jobs that start as they are stored do not wait`() async throws {
        try await StoreFixture.with { fixture in
            let intake = AllAtOnce()
            let store = store(fixture, quotas(fixture, 2), intake: intake)
            for _ in 0..<10 {
                let areTaken = try await takes(try jobs(2), store)
                #expect(areTaken)
            }
            #expect(intake.started == 20)
        }
    }

    @Test func `jobs of a schedule count too: without room for all none is made, and the schedule says so`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let jobs = store(fixture, quotas(fixture, 2))
            let store = PostgresScheduleStore(client: fixture.database.client, jobs: jobs, keys: fixture.keys)
            let json = #"{"interval": 60, "job": {"request": "https://origin.example/a"}}"#
            let new = Schedule(
                tenant: fixture.tenant, spec: try ScheduleSpec(json: JSONParser.parse(json.utf8)),
                createdAt: .now.advanced(by: .seconds(-61)))
            guard case .created(let schedule) = try await store.create(new, nil) else { throw InvalidInput([]) }
            let three = (0..<3).map { _ in schedule.job(at: schedule.nextRunAt) }
            let next = Timestamp.now
            #expect(try await store.fire(schedule, three, next: next, failure: nil) == false)
            let refused = try #require(try await store.schedule(schedule.id, of: fixture.tenant))
            #expect(refused.lastError?.message == "There is no room for 3 jobs: at most 2 may wait.")
            #expect(refused.runs == 0 && refused.nextRunAt == next)
            #expect(try await fixture.count("jobs") == 0)
            #expect(try await store.fire(refused, Array(three.prefix(2)), next: nil, failure: nil))
            #expect(try await fixture.count("jobs") == 2)
            #expect(try await jobs.enqueue(try self.jobs(1)) == [.queueFull(quota: 2)])
        }
    }

    @Test func `a quota of a tenant's own is set while nodes run, and taken back`() async throws {
        try await StoreFixture.with { fixture in
            let tenants = PostgresTenantStore(client: fixture.database.client)
            let limits = KnownTenantLimits(store: tenants)
            let quotas = TenantQuota.waitingJobs(of: limits, client: fixture.database.client)
            let store = store(fixture, quotas)
            let queue = PostgresWorkQueue(
                client: fixture.database.client, genericPlan: fixture.database.genericPlan, keys: fixture.keys,
                presence: NodePresence(id: fixture.nodes[0]),
                limiters: fixture.limiters[0], tenantLimits: limits, waiters: fixture.waiters)
            _ = try await queue.heartbeat()
            #expect(try await takes(try jobs(3), store))
            let changed = try await tenants.change(
                TenantChange(limits: [.maximumWaitingJobs: .own(3)]), ofTenant: "default")
            #expect(changed?.limits == [.maximumWaitingJobs: 3] && changed?.weight == 1)
            _ = try await queue.heartbeat()
            #expect(try await store.enqueue(try jobs(1)) == [.queueFull(quota: 3)])
            let limiters = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], quotas: quotas, intake: nil, announce: {})
            let shown = try await limiters.queue(of: fixture.tenant)
            #expect(shown.waiting == 3 && shown.maximumWaitingJobs == 3)
            _ = try await tenants.change(
                TenantChange(limits: [.maximumWaitingJobs: .standard]), ofTenant: "default")
            _ = try await queue.heartbeat()
            #expect(try await takes(try jobs(10), store))
        }
    }
}

/// A worker with room for everything.
private final class AllAtOnce: Intake {
    private let count = Atomic<Int>(0)

    var started: Int { count.load(ordering: .relaxed) }

    func reserve(_ jobs: [NewJob]) -> [Bool] { jobs.map { _ in true } }
    func start(_ jobs: [ClaimedJob]) { count.add(jobs.count, ordering: .relaxed) }
    func release(_ jobs: [NewJob]) {}
    func giveUp(_ jobs: [NewJob]) {}
    func wake() {}
    func wake(for tenants: Set<Tenant.ID>) {}
    func wake(after wait: Duration) {}
    func admit(_ limiters: [Limiter.Address]?) {}
    func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) {}
    func setPace(_ pace: JobPace, of id: Job.ID) {}
    func cancel(_ id: Job.ID, _ manner: Cancellation) {}
}
