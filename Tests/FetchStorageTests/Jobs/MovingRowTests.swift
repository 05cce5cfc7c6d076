import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// What statements do with rows of the queue that another connection changes while they wait for them.
///
/// The change is held open until the statement waits, so it always comes between what that sees and what it locks: the
/// row is at another place then.
@Suite struct MovingRowTests {
    /// What a client changes while a job ends, as the row tells of it.
    enum Change: String, CaseIterable {
        case priority = "UPDATE queue SET rank = rank + 1, is_changed = true"
        case cancel = "UPDATE queue SET cancelling = node_id IS NOT NULL"
        case suspend = "UPDATE queue SET suspended = true"
    }

    /// Runs a statement while all rows of the queue move.
    private static func during<R: Sendable>(
        _ change: Change, _ fixture: StoreFixture, _ statement: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let connection = try await fixture.database.connect()
        try await connection.query("BEGIN")
        try await connection.query(Query(verbatim: change.rawValue))
        async let result = statement()
        do {
            try await until {
                try await !fixture.database.client.query(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                ).isEmpty
            }
            try await connection.query("COMMIT")
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
        return try await result
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

    /// What a node says of a job that it has.
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
            // While the first statement waits, what is said of the others comes into the next.
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
            try await Self.during(.priority, fixture) { try await queue.release([job]) }
            #expect(try await queue.claim(limit: 1).map(\.claim) == [2])
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
}
