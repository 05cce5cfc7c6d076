import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The upkeep of a node beside running jobs, while some rows are broken.
@Suite struct UpkeepTests {
    /// Jobs that node 1 has, whose lease has run out.
    private static func lost(_ count: Int, _ fixture: StoreFixture, more: String = "") async throws -> [Job.ID] {
        _ = try await fixture.store().enqueue((0..<count).map { _ in try .make(more: more) })
        _ = try await fixture.queue(1).heartbeat()
        let jobs = try await fixture.queue(1).claim(limit: count)
        #expect(jobs.count == count)
        try await fixture.database.client.query(
            "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = \(fixture.nodes[1])")
        return jobs.map(\.id)
    }

    @Test func `a lost job that the database refuses to rescue keeps no other from it, and no node from its lease`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let jobs = try await Self.lost(9, fixture)
            // The attempt has a row already, with other values.
            try await fixture.database.client.query(
                """
                INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state)
                SELECT tenant_id, job_id, claim, now(), now(), 'failed' FROM queue WHERE job_id = \(jobs[4])
                """)
            let queue = fixture.queue()
            #expect(try await queue.heartbeat().failures.isEmpty)
            let rescue = try await queue.rescue()
            #expect(rescue.count == 8)
            #expect(rescue.failures.map(\.step) == [.rescue] && rescue.failures.map(\.job) == [jobs[4]])
            #expect(try await Set(queue.claim(limit: 10).map(\.id)) == Set(jobs).subtracting([jobs[4]]))
            #expect(try await queue.rescue().failures.isEmpty)
            #expect(try await queue.heartbeat().leaseWasLost == false)
        }
    }

    @Test func `a lost job that has its result already leaves the queue, and runs no more`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try await Self.lost(2, fixture)
            try await fixture.database.client.query(
                """
                INSERT INTO results (tenant_id, job_id, state, response)
                VALUES (\(fixture.tenant), \(jobs[0]), 'succeeded', '{}')
                """)
            let rescue = try await fixture.queue().rescue()
            #expect(rescue.count == 2 && rescue.failures.isEmpty)
            #expect(try await fixture.queue().claim(limit: 10).map(\.id) == [jobs[1]])
            #expect(try await fixture.store().job(jobs[0], of: fixture.tenant)?.state == .succeeded)
            #expect(try await fixture.count("job_counts") == 0)
        }
    }

    @Test func `jobs that a node claimed while it was forgotten are found`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try await Self.lost(2, fixture)
            try await fixture.database.client.query("DELETE FROM nodes")
            #expect(try await fixture.queue().rescue().count == 0)
            try await fixture.database.client.query("UPDATE queue SET claimed_at = now() - interval '16 seconds'")
            #expect(try await fixture.queue().rescue().count == 2)
            #expect(try await Set(fixture.queue().claim(limit: 10).map(\.id)) == Set(jobs))
        }
    }

    // Proves: REL-2.
    @Test func `a node is told when the next lease runs out`() async throws {
        try await StoreFixture.with { fixture in
            #expect(try await fixture.queue().heartbeat().nextLoss == nil)
            _ = try await fixture.queue(1).heartbeat()
            let wait = try #require(try await fixture.queue().heartbeat().nextLoss)
            #expect(wait > .seconds(10) && wait <= .seconds(15))
            let next = try #require(try await fixture.queue().rescue().next)
            #expect(next > .seconds(10) && next <= wait)
        }
    }

    @Test func `a job that cannot be ended keeps no other that has expired waiting`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try (0..<5).map { _ in try NewJob.make() }
            _ = try await fixture.store().enqueue(jobs)
            try await fixture.database.client.query(
                """
                WITH due AS (UPDATE queue SET expires_at = now() - interval '1 second')
                INSERT INTO results (tenant_id, job_id, state, response)
                VALUES (\(fixture.tenant), \(jobs[2].id), 'succeeded', '{}')
                """)
            let promotion = try await fixture.queue().promote()
            #expect(promotion.hasEndedJobs)
            #expect(promotion.failures.map(\.step) == [.expiry] && promotion.failures.map(\.job) == [jobs[2].id])
            #expect(try await fixture.count("queue") == 1)
        }
    }

    @Test func `a job that cannot be read keeps the pace of others from no one`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store().enqueue((0..<2).map { _ in try .make() })
            let jobs = try await fixture.queue().claim(limit: 2)
            try await fixture.database.client.query(
                """
                WITH changed AS (UPDATE queue SET is_changed = true)
                UPDATE jobs SET spec = '{"kind":"none"}' WHERE id = \(jobs[0].id)
                """)
            let heartbeat = try await fixture.queue().heartbeat()
            #expect(heartbeat.paces.keys.map(\.self) == [jobs[1].id])
            #expect(heartbeat.failures.map(\.job) == [jobs[0].id])
        }
    }

    /// A row that is broken by hand, and the invariant that the database finds violated.
    @Test(
        arguments: [
            (
                "INSERT INTO results (tenant_id, job_id, state, response) SELECT 1, job_id, 'succeeded', '{}' FROM queue",
                "a job that has its result is not in the queue"
            ),
            ("DELETE FROM queue", "a job is in the queue, or has its result"),
            ("DELETE FROM jobs", "what is in the queue is a job"),
            (
                """
                UPDATE queue
                SET node_id = gen_random_uuid(), claim = 1, claimed_at = now() - interval '2 minutes'
                """, "a job that runs is had by a node that lives"
            ),
            (
                "UPDATE queue SET scheduled = true, run_at = now() - interval '2 minutes'",
                "a job is promoted when its time has come"
            ),
            (
                "UPDATE queue SET expires_at = now() - interval '2 minutes'",
                "a job that has expired while it waited has ended"
            ),
            (
                """
                INSERT INTO groups (tenant_id, id, spec, created_at, closed_at)
                VALUES (1, gen_random_uuid(), '{}', now(), now() - interval '2 minutes')
                """, "a closed group without jobs to be done is finished"
            ),
            (
                """
                INSERT INTO sessions (tenant_id, id, kind, spec, state, invalidated_at)
                VALUES (1, gen_random_uuid(), 'default', '{}', 'finishing', now() - interval '2 minutes')
                """, "a session that ends and has no jobs to be done is invalidated"
            ),
        ])
    func `what is broken is found`(_ break: String, _ invariant: String) async throws {
        try await StoreFixture.with { fixture in
            let invariants = PostgresInvariants(client: fixture.database.client)
            _ = try await fixture.store().enqueue([try .make()])
            #expect(try await invariants.violations().isEmpty)
            try await fixture.database.client.query(Query(verbatim: `break`))
            let found = try await invariants.violations()
            #expect(found.map(\.invariant).contains(invariant))
            #expect(found.allSatisfy { $0.count == 1 && $0.example.contains("_") })
        }
    }

    @Test func `the end of a job that nobody was told of is found`() async throws {
        try await StoreFixture.with { fixture in
            let invariants = PostgresInvariants(client: fixture.database.client)
            let endpoint = try fixture.endpoint([.jobFinished])
            let webhooks = try fixture.webhooks()
            try await webhooks.add(endpoint)
            _ = try await fixture.store().enqueue([try .make(more: #", "webhook": {"endpoint": "\#(endpoint.id)"}"#)])
            let job = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(job, .make()))
            #expect(try await invariants.violations().isEmpty)
            try await fixture.database.client.query("DELETE FROM webhook_deliveries")
            let untold = ["the end of a job is told to the endpoint that asked for it"]
            #expect(try await invariants.violations().map(\.invariant) == untold)
            // However long ago, except for rows that the pruner may have removed.
            try await fixture.database.client.query("UPDATE results SET finished_at = now() - interval '20 days'")
            try await fixture.database.client.query(
                "UPDATE webhook_endpoints SET events_changed_at = now() - interval '21 days'")
            #expect(try await invariants.violations().map(\.invariant) == untold)
            #expect(try await invariants.violations(kept: .seconds(19 * 86_400)).isEmpty)
            // Which it did not want then.
            let stored = try #require(try await webhooks.endpoint(endpoint.id, of: fixture.tenant))
            var changed = stored
            changed.events = [.jobFinished, .jobStarted]
            #expect(try await webhooks.update(changed, rotation: nil) != nil)
            #expect(try await invariants.violations().isEmpty)
        }
    }
}
