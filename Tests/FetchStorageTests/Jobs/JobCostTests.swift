import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The cost of a job does not depend on the jobs that wait, run elsewhere, or are finished (R40).
///
/// The cost is counted in pages. The statements are planned while the tables are empty, and nothing tells the planner
/// of later rows.
@Suite struct JobCostTests {
    private struct Fixture {
        let database: TestDatabase
        let stores: StoreFixture

        static func with(_ body: (Fixture) async throws -> Void) async throws {
            try await TestDatabase.withCountedPages { database in
                let fixture = Fixture(database: database, stores: try StoreFixture(database: database))
                // Planned now.
                try await fixture.run(jobs: 1)
                try await body(fixture)
            }
        }

        /// Takes jobs all the way.
        func run(jobs count: Int) async throws {
            let (store, queue) = (stores.store(), stores.queue())
            _ = try await store.enqueue(try (0..<count).map { _ in try NewJob.make() })
            let jobs = try await queue.claim(limit: count)
            #expect(jobs.count == count)
            for job in jobs {
                #expect(try await queue.begin(job))
                #expect(try await queue.settle(job, .make()))
                #expect(try await store.job(job.id, of: job.tenant)?.state == .succeeded)
            }
        }

        /// Jobs that wait, or that another node runs, with a result for each that is finished.
        func fill(_ count: Int32, areRunning: Bool) async throws {
            try await database.client.query(
                """
                WITH job AS (
                    INSERT INTO jobs (tenant_id, id, spec)
                    SELECT 1, gen_random_uuid(), \(RawJSON(try JobSpec.make().json))
                    FROM generate_series(1, \(count))
                    RETURNING id
                )
                INSERT INTO queue (tenant_id, job_id, rank, claim, node_id, claimed_at)
                SELECT 1, id, 500, \(areRunning ? 1 : 0), CASE WHEN \(areRunning) THEN \(stores.nodes[1]) END,
                    CASE WHEN \(areRunning) THEN now() END
                FROM job
                """)
        }
    }

    // R40
    // Proves: REL-15.
    @Test(arguments: [false, true])
    func `jobs read as many pages beside many as beside few`(thatRun areRunning: Bool) async throws {
        try await Fixture.with { fixture in
            try await fixture.fill(1000, areRunning: areRunning)
            let few = try await fixture.database.pages { try await fixture.run(jobs: 20) }
            try await fixture.fill(30_000, areRunning: areRunning)
            let many = try await fixture.database.pages { try await fixture.run(jobs: 20) }
            #expect(many < 2 * few, "\(few) pages, then \(many)")
        }
    }
}
