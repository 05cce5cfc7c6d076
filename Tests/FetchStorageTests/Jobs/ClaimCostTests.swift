import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// What a claim costs does not depend on what waits, and on what is finished (R40).
@Suite struct ClaimCostTests {
    // R40: counted in pages, which no other work of the machine changes.
    @Test func `a claim reads as many pages among many jobs as among few`() async throws {
        // One connection, so that what it has read is told before it is asked.
        try await TestDatabase.with(Schema.migrations, configure: { $0.maximumConnections = 1 }) { database in
            let fixture = try StoreFixture(database: database)
            let client = database.client
            func pages() async throws -> Int64 {
                try await client.query("SELECT pg_stat_force_next_flush()")
                let rows = try await client.query(
                    """
                    SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint
                    FROM pg_statio_user_tables
                    """)
                return try rows.first?.decode(Int64.self, at: 0) ?? 0
            }
            func cost(beside count: Int32) async throws -> Int64 {
                try await client.query(
                    """
                    WITH job AS (
                        INSERT INTO jobs (tenant_id, id, spec)
                        SELECT 1, gen_random_uuid(), \(RawJSON(try JobSpec.make().json))
                        FROM generate_series(1, \(count))
                        RETURNING id
                    )
                    INSERT INTO queue (tenant_id, job_id, rank) SELECT 1, id, 500 FROM job
                    """)
                try await client.query("ANALYZE queue")
                try await client.query("ANALYZE jobs")
                let before = try await pages()
                #expect(try await fixture.queue().claim(limit: 50).count == 50)
                return try await pages() - before
            }
            let few = try await cost(beside: 1000)
            let many = try await cost(beside: 30_000)
            #expect(many < 2 * few, "\(few) pages, then \(many)")
        }
    }
}
