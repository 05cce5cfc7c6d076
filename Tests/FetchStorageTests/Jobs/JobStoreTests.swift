import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import Synchronization
import TestSupport
import Testing

/// Two nodes over one database.
struct StoreFixture {
    let database: TestDatabase
    let waiters = CompletionWaiters()
    let nodes = [Node.ID(), Node.ID()]
    let volumes = [Volume.new(), Volume.new()]
    let tenant = Tenant.ID(rawValue: 1)
    let keys: TenantKeys
    /// The specs that each node has stored.
    let specs: [StoredSpecs]
    /// The limiters as each node knows them.
    let limiters: [KnownLimiters]

    init(database: TestDatabase, specs: [StoredSpecs] = [StoredSpecs(), StoredSpecs()]) throws {
        self.database = database
        self.specs = specs
        limiters = nodes.map { _ in KnownLimiters(client: database.client) }
        keys = TenantKeys(client: database.client, ring: try KeyRing(KeyRing.generate()))
    }

    func store(_ node: Int = 0, intake: (any Intake)? = nil) -> PostgresJobStore {
        PostgresJobStore(
            client: database.client,
            genericPlan: database.genericPlan,
            keys: keys,
            node: nodes[node],
            limiters: limiters[node],
            specs: specs[node],
            intake: intake,
            waiters: waiters,
            announce: { _ in }
        )
    }

    func queue(
        _ node: Int = 0, listeningAt url: String? = nil, protocols: KnownProtocols? = nil,
        rules: KnownServiceRules? = nil, egress: KnownEgress? = nil
    ) -> PostgresWorkQueue {
        let presence = NodePresence(id: nodes[node], volume: volumes[node])
        presence.listens(at: url)
        return PostgresWorkQueue(
            client: database.client, genericPlan: database.genericPlan, keys: keys, presence: presence,
            limiters: limiters[node], protocols: protocols, rules: rules, egress: egress,
            specs: specs[node], waiters: waiters)
    }

    func count(_ table: Query) async throws -> Int64 {
        try await database.client.query("SELECT count(*) FROM \(table)").first?.decode(Int64.self, at: 0) ?? -1
    }

    static func with(_ body: (StoreFixture) async throws -> Void) async throws {
        try await TestDatabase.with(Schema.migrations) { try await body(try StoreFixture(database: $0)) }
    }
}

extension PostgresWorkQueue {
    /// Claims until nothing is left to be looked at.
    func claim(upTo limit: Int) async throws(StoreError) -> Claim { try await claim(upTo: limit, room: ClaimRoom()) }

    func claim(limit: Int) async throws -> [ClaimedJob] {
        var jobs: [ClaimedJob] = []
        while true {
            let claim = try await claim(upTo: limit - jobs.count)
            jobs += claim.jobs
            guard let wait = claim.nextScan else { return jobs }
            try await Task.sleep(for: wait)
        }
    }
}

@Suite struct JobStoreTests {
    @Test func `a job goes from submission to result`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            let job = try NewJob.make(more: #", "labels": {"z": "1", "a": "2"}"#)
            #expect(try await store.enqueue([job]) == [.accepted(job.id)])
            #expect(try await store.job(job.id, of: fixture.tenant)?.state == .queued)

            let claimed = try #require(try await queue.claim(limit: 10).first)
            #expect(claimed.spec == job.spec)
            #expect(claimed.claim == 1)
            #expect(try await store.job(job.id, of: fixture.tenant)?.state == .running)

            #expect(try await queue.settle(claimed, .make(body: .inline(Array("hello".utf8)))))
            let done = try #require(try await store.job(job.id, of: fixture.tenant))
            #expect(done.state == .succeeded)
            #expect(done.body?.bytes == 5)
            #expect(done.attempts.map(\.number) == [1])
            #expect(done.spec.text == RawJSON(job.spec.json).text)
            let body = try #require(try await store.body(of: job.id, tenant: fixture.tenant))
            guard case .inline(let bytes) = body.location else { throw StoreError(.failed, "not inline") }
            #expect(bytes == Array("hello".utf8))
            #expect(body.contentType == "text/plain")
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test func `jobs that are asked for together are as each is by itself`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            let jobs = try (0..<5).map { _ in try NewJob.make() }
            _ = try await store.enqueue(jobs)
            for job in try await queue.claim(limit: 3) {
                #expect(try await queue.settle(job, .make(body: .inline(Array("hello".utf8)))))
            }
            // Two of them have had an attempt before.
            try await fixture.database.client.query(
                """
                INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state)
                SELECT tenant_id, job_id, attempt - 1, started_at, finished_at, 'failed'
                FROM results
                ORDER BY job_id
                LIMIT 2
                """)
            let asked = Set(jobs.map(\.id) + [Job.ID()])
            let found = try await store.jobs([fixture.tenant: asked, .second: [jobs[0].id]])
            #expect(Set(found.map(\.id)) == Set(jobs.map(\.id)) && found.count == 5)
            for job in found {
                let alone = try #require(try await store.job(job.id, of: fixture.tenant))
                #expect(JSONWriter.object(job.write) == JSONWriter.object(alone.write))
                #expect(job.attempts.map(\.number) == alone.attempts.map(\.number))
            }
            #expect(found.map(\.attempts.count).sorted() == [0, 0, 1, 2, 2])
            #expect(try await store.jobs([:]).isEmpty)
        }
    }

    @Test func `a job is read whole beside many attempts, and among more jobs than are read at once`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            let jobs = try (0..<2 * PostgresJobStore.maximumJobsAtOnce + 1).map { number in
                try NewJob.make(more: #", "labels": {"number": "\#(number)"}"#)
            }
            _ = try await store.enqueue(jobs)
            for job in try await queue.claim(limit: 4) {
                #expect(try await queue.settle(job, .make(body: .inline(Array("hello".utf8)))))
            }
            // They have had forty attempts before.
            try await fixture.database.client.query("UPDATE results SET attempt = 41")
            try await fixture.database.client.query(
                """
                INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state, error_name)
                SELECT tenant_id, job_id, number, started_at, finished_at, 'failed', 'error' || number
                FROM results, generate_series(1, 40) AS number
                ORDER BY number DESC
                """)
            let found = try await store.jobs([fixture.tenant: Set(jobs.map(\.id))])
            #expect(Set(found.map(\.id)) == Set(jobs.map(\.id)) && found.count == jobs.count)
            for job in found {
                let made = try #require(jobs.first { $0.id == job.id })
                #expect(job.spec.text == RawJSON(made.spec.json).text)
                let alone = try #require(try await store.job(job.id, of: fixture.tenant))
                #expect(JSONWriter.object(job.write) == JSONWriter.object(alone.write))
                #expect(job.attempts.isEmpty || job.response != nil && job.body?.bytes == 5)
                #expect(job.attempts.isEmpty || job.attempts.map(\.number) == Array(1...41))
                #expect(job.attempts.first?.errorName == (job.attempts.isEmpty ? nil : "error1"))
                #expect(job.attempts.last?.state == (job.attempts.isEmpty ? nil : .succeeded))
            }
            #expect(found.count { $0.attempts.count == 41 } == 4)
        }
    }

    // Proves: REL-2.
    @Test func `two nodes never claim the same job`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try (0..<200).map { _ in try NewJob.make() }
            _ = try await fixture.store().enqueue(jobs)
            async let first = fixture.queue(0).claim(limit: 100)
            async let second = fixture.queue(1).claim(limit: 200)
            let claimed = try await first.map(\.id) + second.map(\.id)
            #expect(Set(claimed).count == claimed.count)
            let rest = try await fixture.queue(0).claim(limit: 200).map(\.id)
            #expect(Set(claimed + rest) == Set(jobs.map(\.id)))
        }
    }

    // MARK: Idempotency

    @Test func `concurrent duplicates on two nodes make one job`() async throws {
        try await StoreFixture.with { fixture in
            let stores = [fixture.store(0), fixture.store(1)]
            let outcomes = try await withThrowingTaskGroup(of: [Enqueued].self) { group in
                for number in 0..<40 {
                    let job = try NewJob.make(key: "k\(number % 4)", fingerprint: 1)
                    group.addTask { try await stores[number % 2].enqueue([job]) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let accepted = outcomes.filter { if case .accepted = $0 { true } else { false } }
            #expect(accepted.count == 4)
            #expect(!outcomes.contains(.conflict))
            #expect(try await fixture.count("jobs") == 4)
        }
    }

    // MARK: Direct dispatch

    @Test func `a worker with room gets the jobs as they are stored`() async throws {
        try await StoreFixture.with { fixture in
            let worker = RoomFor(3)
            let jobs = try (0..<5).map { _ in try NewJob.make() }
            _ = try await fixture.store(intake: worker).enqueue(jobs)
            #expect(worker.started.map(\.id) == jobs.prefix(3).map(\.id))
            #expect(worker.wakes == 1)
            for job in worker.started { #expect(try await fixture.queue().settle(job, .make())) }
            #expect(try await Set(fixture.queue().claim(limit: 10).map(\.id)) == Set(jobs.suffix(2).map(\.id)))
        }
    }

    @Test func `jobs with a key or of a session start as they are stored too, unless they wait or are there`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let worker = RoomFor(10)
            let store = fixture.store(intake: worker)
            let session = TenantSession.ID()
            try await fixture.database.client.query(
                """
                INSERT INTO sessions (tenant_id, id, kind, spec)
                VALUES (\(fixture.tenant), \(session), 'default', '{}')
                """
            )
            try await fixture.database.client.query(
                """
                INSERT INTO session_stores (tenant_id, session_id, layer_ids, cookies_version)
                VALUES (\(fixture.tenant), \(session), \([session]), 7)
                """
            )
            let jobs = [
                try NewJob.make(key: "a"), try NewJob.make(more: #", "session": "\#(session)""#),
                try NewJob.make(more: #", "suspended": true"#),
                try NewJob.make(more: #", "runAt": "2999-01-01T00:00:00Z""#),
                try NewJob.make(more: #", "session": "\#(TenantSession.ID())""#),
            ]
            #expect(
                try await store.enqueue(jobs) == jobs.prefix(4).map { .accepted($0.id) } + [.sessionInvalidated])
            #expect(worker.started.map(\.id) == jobs.prefix(2).map(\.id))
            #expect(worker.started.map(\.stores.cookies) == [0, 7])
            #expect(try await store.enqueue([try NewJob.make(key: "a")]) == [.replayed(jobs[0].id)])
            #expect(worker.started.count == 2)
            // The room that was not needed is free again.
            #expect(worker.room == 8)
            for job in worker.started { #expect(try await fixture.queue().settle(job, .make())) }
            #expect(try await fixture.queue().claim(limit: 10).isEmpty)
        }
    }

    @Test func `a job that is refused while the window ends is told the first one`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let unique = #", "unique": {"key": "k", "window": 1}"#
            let first = try NewJob.make(more: unique)
            #expect(try await store.enqueue([first]) == [.accepted(first.id)])
            // Its statement begins within the window, and goes on after it.
            let client = fixture.database.client
            let second = try await client.transaction { connection in
                try await connection.query("SELECT FROM unique_keys FOR UPDATE")
                let second = Task { try await store.enqueue([try NewJob.make(more: unique)]) }
                try await until {
                    try await client.query(
                        """
                        SELECT FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND query LIKE '-- jobs.enqueueChecked%'
                            AND datname = current_database()
                        """
                    ).count == 1
                }
                try await until {
                    try await client.query("SELECT FROM unique_keys WHERE expires_at < clock_timestamp()").count == 1
                }
                return second
            }
            #expect(try await second.value == [.duplicate(of: first.id)])
        }
    }

    // MARK: Lists

    @Test func `a list can be of one state`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue(try (0..<5).map { _ in try NewJob.make() })
            _ = try await fixture.store().enqueue([try .make(more: #", "runAt": "2999-01-01T00:00:00Z""#)])
            let claimed = try await fixture.queue().claim(limit: 4)
            for (job, state) in zip(claimed, [JobState.succeeded, .failed, .cancelled]) {
                #expect(try await fixture.queue().settle(job, .make(state)))
            }
            let others: Set = [JobState.awaitingDecision, .suspended]
            for state in JobState.allCases where !others.contains(state) {
                let jobs = try await fixture.store().jobs(of: fixture.tenant, state: state, page: JobPage(limit: 9))
                #expect(jobs.map(\.state) == [state])
            }
        }
    }
}

/// A worker with room for so many jobs; it starts none.
private final class RoomFor: Intake {
    private let state: Mutex<(room: Int, started: [ClaimedJob], wakes: Int)>

    init(_ room: Int) { state = Mutex((room, [], 0)) }

    var started: [ClaimedJob] { state.withLock { $0.started } }
    var wakes: Int { state.withLock { $0.wakes } }

    var room: Int { state.withLock { $0.room } }

    func reserve(_ jobs: [NewJob]) -> [Bool] {
        state.withLock { state in
            jobs.map { _ in
                guard state.room > 0 else { return false }
                state.room -= 1
                return true
            }
        }
    }

    func start(_ jobs: [ClaimedJob]) { state.withLock { $0.started += jobs } }
    func release(_ jobs: [NewJob]) { state.withLock { $0.room += jobs.count } }
    func giveUp(_ jobs: [NewJob]) { release(jobs) }
    func wake(for tenants: Set<Tenant.ID>) { wake() }
    func wake() { state.withLock { $0.wakes += 1 } }
    func wake(after wait: Duration) {}
    func admit(_ limiters: [Limiter.Address]?) {}
    func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) {}
    func setPace(_ pace: JobPace, of id: Job.ID) {}
    func cancel(_ id: Job.ID, _ manner: Cancellation) {}
}
