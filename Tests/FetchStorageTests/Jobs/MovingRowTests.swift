import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Statements about rows of the queue that another connection changes while they wait for them.
///
/// The change is held open until the statement waits, so it always comes between what that sees and what it locks: the
/// row is at another place then.
@Suite struct MovingRowTests {
    /// A change by a client while a job ends, as the row tells of it.
    enum Change: String, CaseIterable {
        case priority = "UPDATE queue SET rank = rank + 1, is_changed = true"
        case cancel = "UPDATE queue SET cancelling = node_id IS NOT NULL"
        case suspend = "UPDATE queue SET suspended = true"
    }

    /// Runs a statement while all rows of the queue move.
    private static func during<R: Sendable>(
        _ change: Change, _ fixture: StoreFixture, _ statement: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await fixture.database.during([Query(verbatim: change.rawValue)], statement)
    }

    /// As many jobs as are given, claimed by node 0.
    private static func claimed(_ count: Int, _ fixture: StoreFixture) async throws -> [ClaimedJob] {
        _ = try await fixture.store().enqueue((0..<count).map { _ in try .make(method: "POST") })
        let jobs = try await fixture.queue().claim(limit: count)
        #expect(jobs.count == count)
        return jobs
    }

    @Test(arguments: Change.allCases)
    func `a job that is changed while it is settled leaves the queue`(_ change: Change) async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            #expect(try await Self.during(change, fixture) { try await queue.settle(job, .make()) })
            #expect(try await fixture.count("queue") == 0)
            #expect(try await fixture.count("results") == 1)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .succeeded)
        }
    }

    @Test(arguments: Change.allCases)
    func `a job that is changed while it begins has begun`(_ change: Change) async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            #expect(try await Self.during(change, fixture) { try await queue.begin(job) })
            #expect(try await fixture.count("queue WHERE begun") == 1)
        }
    }

    @Test func `jobs that have not moved are settled beside those that have`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let jobs = try await Self.claimed(30, fixture)
            let settled = try await Self.during(.priority, fixture) {
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for job in jobs { group.addTask { try await queue.settle(job, .make()) } }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
            }
            #expect(settled == 30)
            #expect(try await fixture.count("queue") == 0)
            #expect(try await fixture.count("results") == 30)
        }
    }

    /// A write of a node about a job that it has.
    enum Word: CaseIterable { case begin, settle, retry }

    // Its lease had run out, and then it got the job again.
    @Test(arguments: Word.allCases)
    func `of two claims of a node to a job the newer one counts, also where one statement has both`(
        _ word: Word
    ) async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let (other, late) = (try await Self.claimed(1, fixture)[0], try await Self.claimed(1, fixture)[0])
            try await fixture.database.client.query(
                "UPDATE queue SET node_id = NULL, claimed_at = NULL WHERE job_id = \(late.id)")
            let current = try #require(try await queue.claim(limit: 1).first)
            // While the first statement waits, the writes about the others go into the next.
            let obeyed = try await Self.during(.priority, fixture) {
                try await withThrowingTaskGroup(of: ClaimedJob?.self) { group in
                    for job in [other, late, current] {
                        group.addTask {
                            let isObeyed =
                                switch word {
                                case .begin: try await queue.begin(job)
                                case .settle: try await queue.settle(job, .make())
                                case .retry: try await queue.retry(job, .make(.failed), after: .seconds(60))
                                }
                            return isObeyed ? job : nil
                        }
                    }
                    return try await group.reduce(into: [ClaimedJob]()) { $0 += $1.map { [$0] } ?? [] }
                }
            }
            #expect(Set(obeyed.map(\.id)) == [other.id, current.id])
            #expect(!obeyed.contains { $0 === late })
        }
    }

    @Test func `a changed job that fails and is tried again waits for its next attempt`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            #expect(
                try await Self.during(.priority, fixture) {
                    try await queue.retry(job, .make(.failed), after: .seconds(60))
                })
            #expect(try await fixture.count("queue WHERE scheduled AND tries = 1 AND node_id IS NULL") == 1)
            #expect(try await fixture.count("attempts") == 1)
        }
    }

    @Test func `a job that is being cancelled meanwhile is not tried again`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            #expect(
                try await Self.during(.cancel, fixture) {
                    try await queue.retry(job, .make(.failed), after: .seconds(60))
                } == false)
            #expect(try await fixture.count("attempts") == 0)
            #expect(try await queue.settle(job, .make(.failed)))
        }
    }

    @Test func `a changed job is given back`() async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            _ = try await Self.during(.priority, fixture) { try await queue.release([job]) }
            #expect(try await queue.claim(limit: 1).map(\.claim) == [2])
        }
    }

    @Test(arguments: [false, true])
    func `a job that is being cancelled meanwhile is not given back to run again`(_ hasBegun: Bool) async throws {
        try await StoreFixture.with { fixture in
            let queue = fixture.queue()
            let job = try await Self.claimed(1, fixture)[0]
            if hasBegun { #expect(try await queue.begin(job)) }
            #expect(try await Self.during(.cancel, fixture) { try await queue.release([job]) } == [job.id])
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .cancelled)
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test(arguments: Change.allCases)
    func `a lost job that is changed while it is rescued is there once`(_ change: Change) async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let job = try await Self.claimed(1, fixture)[0]
            try await fixture.database.client.query("UPDATE nodes SET lease_until = now() - interval '1 second'")
            let other = fixture.queue(1)
            _ = try await Self.during(change, fixture) { try await other.rescue() }
            let state = try await fixture.store().job(job.id, of: fixture.tenant)?.state
            switch change {
            case .priority: #expect(state == .queued)
            case .cancel: #expect(state == .cancelled)
            case .suspend: #expect(state == .suspended)
            }
            #expect(try await fixture.count("queue") == (change == .cancel ? 0 : 1))
            #expect(try await fixture.count("results") == (change == .cancel ? 1 : 0))
            #expect(try await fixture.count("attempts") == 1)
        }
    }

    @Test func `a changed job is cancelled, where it is now`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let job = try NewJob.make()
            _ = try await store.enqueue([job])
            try await Self.during(.suspend, fixture) {
                _ = try await store.cancel(job.id, of: job.tenant, .plainly)
            }
            #expect(try await store.job(job.id, of: fixture.tenant)?.state == .cancelled)
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test func `a job that is claimed while it is cancelled is being cancelled`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let job = try NewJob.make()
            _ = try await store.enqueue([job])
            let claim: Query = """
                UPDATE queue SET node_id = \(fixture.nodes[0]), claimed_at = now(), claim = claim + 1
                """
            try await fixture.database.during([claim]) {
                _ = try await store.cancel([job.id], of: job.tenant, .plainly)
            }
            #expect(try await fixture.count("queue WHERE cancelling AND node_id IS NOT NULL") == 1)
        }
    }

    @Test func `a job that goes back to the queue while it is cancelled is final`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let job = try await Self.claimed(1, fixture)[0]
            try await fixture.database.during(["UPDATE queue SET node_id = NULL, claimed_at = NULL, scheduled = true"])
            {
                _ = try await store.cancel([job.id], of: job.tenant, .plainly)
            }
            #expect(try await store.job(job.id, of: fixture.tenant)?.state == .cancelled)
            #expect(try await fixture.count("queue") == 0)
        }
    }

    // MARK: Claim

    /// Runs a claim of node 0 that sees the queue, and locks nothing of it before it has been changed.
    private static func claim(
        _ limit: Int, _ fixture: StoreFixture, while change: () async throws -> Void
    ) async throws -> [ClaimedJob] {
        try await fixture.database.withPausedClock { client, resume in
            let queue = PostgresWorkQueue(
                client: client, genericPlan: client, keys: fixture.keys, presence: NodePresence(id: fixture.nodes[0]),
                limiters: fixture.limiters[0], waiters: fixture.waiters)
            async let claim = queue.claim(upTo: limit)
            try await fixture.database.untilStatementWaits()
            try await change()
            try await resume()
            return try await claim.jobs
        }
    }

    @Test(arguments: [true, false])
    func `of jobs of which some are changed between sight and lock, each is claimed once, now or next`(
        _ hasLimiters: Bool
    ) async throws {
        try await StoreFixture.with { fixture in
            if hasLimiters { try await Self.setLimit(of: fixture) }
            // Which has the claim look at the time for each row.
            let jobs = try (0..<10).map { _ in try NewJob.make(more: #", "expiresAt": "2100-01-01T00:00:00Z""#) }
            _ = try await fixture.store().enqueue(jobs)
            let moved = jobs.prefix(5).map(\.id)
            let first = try await Self.claim(10, fixture) {
                try await fixture.database.client.query(
                    "UPDATE queue SET rank = rank + 1 WHERE job_id = ANY (\(Array(moved)))")
            }
            #expect(Set(first.map(\.id)).isSuperset(of: jobs.dropFirst(5).map(\.id)))
            #expect(try await fixture.count("queue WHERE node_id IS NOT NULL") == Int64(first.count))
            let rest = try await fixture.queue().claim(limit: 10)
            #expect((first + rest).map(\.claim) == Array(repeating: 1, count: 10))
            #expect(Set((first + rest).map(\.id)) == Set(jobs.map(\.id)))
        }
    }

    @Test func `what is suspended or cancelled between sight and lock is not claimed`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try (0..<3).map { _ in try NewJob.make(more: #", "expiresAt": "2100-01-01T00:00:00Z""#) }
            let store = fixture.store()
            _ = try await store.enqueue(jobs)
            let claimed = try await Self.claim(10, fixture) {
                try await store.setSuspended([jobs[0].id], of: fixture.tenant, true)
                _ = try await store.cancel(jobs[1].id, of: fixture.tenant, .plainly)
            }
            #expect(claimed.map(\.id) == [jobs[2].id])
            #expect(try await fixture.queue().claim(limit: 10).isEmpty)
            #expect(try await store.job(jobs[0].id, of: fixture.tenant)?.state == .suspended)
            #expect(try await store.job(jobs[1].id, of: fixture.tenant)?.state == .cancelled)
        }
    }

    // MARK: Admission

    private static let flow = Limiter.Address(tenant: Tenant.ID(rawValue: 1), kind: .flow, key: "k")

    /// Two at a time, in order or not.
    private static func setLimit(of fixture: StoreFixture, _ limits: String = #"{"parallelism": 2}"#) async throws {
        let store = PostgresLimiterStore(
            client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
        try await store.set(try SharedLimits(json: try JSONParser.parse(limits.utf8), of: .flow), of: flow)
    }

    @Test(arguments: Change.allCases + [nil])
    func `a job that is changed while its flow admits it goes on once, or as it is now`(_ change: Change?) async throws
    {
        try await StoreFixture.with { fixture in
            try await Self.setLimit(of: fixture, #"{"order": "fifo"}"#)
            let jobs = try (0..<2).map { _ in try NewJob.make(more: #", "flow": {"key": "k"}"#) }
            _ = try await fixture.store().enqueue(jobs)
            let queue = fixture.queue()
            #expect(try await queue.claim(limit: 10).isEmpty)
            // Nil: the row is gone, as when a client cancels a waiting job.
            let statement = change?.rawValue ?? "DELETE FROM queue"
            _ = try await fixture.database.during(["\(Query(verbatim: statement)) WHERE job_id = \(jobs[0].id)"]) {
                try await queue.admit([Self.flow])
            }
            let admitted = try await fixture.count("queue WHERE in_flow")
            let claimed = try await queue.claim(limit: 10)
            #expect(admitted == 1 && claimed.count == 1)
            let isStillFirst = change == .priority || change == .cancel
            #expect(claimed.map(\.id) == [jobs[isStillFirst ? 0 : 1].id])
            #expect(try await fixture.count("queue WHERE in_flow") == 1)
        }
    }

    @Test func `a flow without order passes over a job that is being changed, and admits it the next time`()
        async throws
    {
        try await StoreFixture.with { fixture in
            try await Self.setLimit(of: fixture)
            let jobs = try (0..<3).map { _ in try NewJob.make(more: #", "flow": {"key": "k"}"#) }
            _ = try await fixture.store().enqueue(jobs)
            let queue = fixture.queue()
            #expect(try await queue.claim(limit: 10).isEmpty)
            let connection = try await fixture.database.connect()
            try await connection.query("BEGIN")
            try await connection.query("UPDATE queue SET rank = rank + 1 WHERE job_id = \(jobs[0].id)")
            _ = try await queue.admit([Self.flow])
            let first = try await queue.claim(limit: 10)
            #expect(first.map(\.id) == [jobs[1].id, jobs[2].id])
            try await connection.query("COMMIT")
            await connection.close()
            for job in first { #expect(try await queue.settle(job, .make())) }
            _ = try await queue.admit([Self.flow])
            #expect(try await queue.claim(limit: 10).map(\.id) == [jobs[0].id])
        }
    }
}
