import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Jobs are stored in partitions by time, and are dropped with them (R40).
@Suite struct JobPartitionTests {
    private static let retention = Duration.seconds(30 * 86_400)

    /// A job that was stored so many days ago, in the range that is there for it.
    private func job(storedBefore days: Int, _ fixture: StoreFixture) async throws -> Job.ID {
        let id = Job.ID(UUIDv7(at: Timestamp.now.advanced(by: .seconds(-86_400 * days))))
        _ = try await fixture.store().enqueue([NewJob(id: id, tenant: fixture.tenant, spec: try .make())])
        return id
    }

    private func addRange(from first: Int, to last: Int, _ fixture: StoreFixture) async throws -> Bool? {
        let rows = try await fixture.database.client.query(
            """
            SELECT add_job_partition(
                date_trunc('day', now()) - make_interval(days => \(Int32(first))),
                date_trunc('day', now()) - make_interval(days => \(Int32(last)))
            )
            """)
        return try rows.first?.decode(at: 0)
    }

    /// Which tables hold a job, its result and its attempts.
    private func tables(of id: Job.ID, _ fixture: StoreFixture) async throws -> Set<String> {
        let rows = try await fixture.database.client.query(
            """
            SELECT tableoid::regclass::text FROM jobs WHERE id = \(id)
            UNION SELECT tableoid::regclass::text FROM results WHERE job_id = \(id)
            UNION SELECT tableoid::regclass::text FROM attempts WHERE job_id = \(id)
            """)
        // Over Citus these are of a shard, whose number ends the name.
        return Set(try rows.map { try $0.decode(String.self, at: 0).replacing(/_[0-9]+$/, with: "") })
    }

    // R40
    @Test func `the range of now and the next are made ahead, once`() async throws {
        try await StoreFixture.with { fixture in
            for node in [0, 1, 0] { try await fixture.queue(node).maintainPartitions(for: Self.retention) }
            #expect(try await fixture.count("job_partitions") == 2)
            let rows = try await fixture.database.client.query(
                "SELECT name FROM job_partitions WHERE starts_at <= now() AND ends_at - starts_at = interval '5 days'")
            let name = try #require(try rows.first?.decode(String.self, at: 0))
            _ = try await fixture.store().enqueue([try .make()])
            let job = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(job, .make()))
            #expect(try await tables(of: job.id, fixture) == ["jobs_\(name)", "results_\(name)"])
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .succeeded)
        }
    }

    @Test func `who stores and ends jobs while a range is made waits for it`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue([try .make()])
            let job = try #require(try await fixture.queue().claim(limit: 1).first)
            try await fixture.database.client.query("DELETE FROM jobs")
            let connection = try await fixture.database.connect()
            try await connection.query("BEGIN")
            try await connection.query(
                "SELECT add_job_partition(date_trunc('day', now()), date_trunc('day', now()) + interval '1 day')")
            async let stored = fixture.store().enqueue([try .make()])
            async let isSettled = fixture.queue().settle(job, .make())
            do {
                try await until {
                    try await fixture.database.client.query(
                        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                    ).count == 2
                }
                try await connection.query("COMMIT")
            } catch {
                await connection.close()
                throw error
            }
            await connection.close()
            #expect(try await stored.count == 1)
            #expect(try await isSettled)
            #expect(try await fixture.count("jobs_default") + (try await fixture.count("results_default")) == 0)
        }
    }

    // R40: a job is looked for where its id says, however many ranges there are.
    @Test func `a read by id looks into one range`() async throws {
        try await StoreFixture.with { fixture in
            for day in 1...8 { #expect(try await addRange(from: day + 1, to: day, fixture) == true) }
            let id = Job.ID(UUIDv7(at: Timestamp.now.advanced(by: .seconds(-86_400 * 9 / 2))))
            for read: Query in [
                "jobs WHERE tenant_id = 1 AND id = \(id)", "results WHERE tenant_id = 1 AND job_id = \(id)",
                "attempts WHERE tenant_id = 1 AND job_id = \(id)",
            ] {
                let rows = try await fixture.database.client.query("EXPLAIN (COSTS OFF) SELECT FROM \(read)")
                let plan = try rows.map { try $0.decode(String.self, at: 0) }
                #expect(plan.count { $0.contains(#/Scan (using|on) /#) } == 1, "\(plan)")
            }
        }
    }

    // R10, R40
    @Test func `a range goes as a whole when all of its jobs have been final for long enough`() async throws {
        try await StoreFixture.with { fixture in
            #expect(try await addRange(from: 45, to: 40, fixture) == true)
            #expect(try await addRange(from: 40, to: 35, fixture) == true)
            let (old, late) = (try await job(storedBefore: 42, fixture), try await job(storedBefore: 37, fixture))
            let queue = fixture.queue()
            try await queue.maintainPartitions(for: Self.retention)
            // They wait, so they stay.
            #expect(try await fixture.count("job_partitions") == 4)
            for job in try await queue.claim(limit: 2) { #expect(try await queue.settle(job, .make())) }
            try await queue.maintainPartitions(for: Self.retention)
            #expect(try await fixture.count("job_partitions") == 4)
            try await fixture.database.client.query(
                "UPDATE results SET finished_at = now() - interval '31 days' WHERE job_id = \(old)")
            try await queue.maintainPartitions(for: Self.retention)
            #expect(try await fixture.count("job_partitions") == 3)
            #expect(try await fixture.store().job(old, of: fixture.tenant) == nil)
            #expect(try await fixture.store().job(late, of: fixture.tenant)?.state == .succeeded)
        }
    }

    // R10: rows of a range that cannot be dropped whole are removed by themselves; rows of a range that is not over
    // wait for it.
    @Test func `rows go by themselves where no range does`() async throws {
        try await StoreFixture.with { fixture in
            #expect(try await addRange(from: 45, to: 40, fixture) == true)
            #expect(try await addRange(from: 35, to: 25, fixture) == true)
            let jobs = [
                try await job(storedBefore: 50, fixture), try await job(storedBefore: 42, fixture),
                try await job(storedBefore: 32, fixture),
            ]
            let queue = fixture.queue()
            for job in try await queue.claim(limit: 3) { #expect(try await queue.settle(job, .make())) }
            try await fixture.database.client.query("UPDATE results SET finished_at = now() - interval '31 days'")
            let waiting = try await job(storedBefore: 41, fixture)
            try await queue.maintainPartitions(for: Self.retention)
            #expect(try await queue.removeFinal(after: Self.retention) == 2)
            #expect(try await tables(of: jobs[0], fixture).isEmpty)
            #expect(try await tables(of: jobs[1], fixture).isEmpty)
            #expect(try await tables(of: jobs[2], fixture).count == 2)
            #expect(try await tables(of: waiting, fixture).count == 1)
        }
    }

    // Jobs from before there were ranges stay where they are, and so do those with an id of another time.
    @Test func `jobs of no range are in the default partition`() async throws {
        try await StoreFixture.with { fixture in
            let before = NewJob(tenant: fixture.tenant, spec: try .make())
            _ = try await fixture.store().enqueue([before])
            try await fixture.queue().maintainPartitions(for: Self.retention)
            // The range of now has a job outside it already: the next one is the first.
            #expect(try await fixture.count("job_partitions") == 1)
            let ahead = try await job(storedBefore: -400, fixture)
            #expect(try await tables(of: before.id, fixture) == ["jobs_default"])
            #expect(try await tables(of: ahead, fixture) == ["jobs_default"])
            #expect(try await fixture.queue().claim(limit: 3).count == 2)
        }
    }
}
