import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

/// What metrics tell of that which waits in the database.
@Suite struct BacklogSamplerTests {
    @Test func `jobs are counted by state, and bytes, deliveries and questions with them`() async throws {
        try await StoreFixture.with { stores in
            let metrics = MetricsRegistry()
            let client = stores.database.client
            let sampler = BacklogSampler(client: client, metrics: metrics, logger: TestDatabase.logger)
            // Nothing is told before somebody has looked.
            #expect(!metrics.text.contains("\nfetchd_queue_jobs{"))
            try await client.query(
                """
                INSERT INTO queue (tenant_id, job_id, rank, run_at, scheduled, suspended, node_id, claimed_at, claim)
                SELECT 1, gen_random_uuid(), 500, now() - interval '1 hour', n <= 2, n = 3,
                    CASE WHEN n = 4 THEN gen_random_uuid() END, CASE WHEN n = 4 THEN now() - interval '1 minute' END,
                    CASE WHEN n = 4 THEN 1 ELSE 0 END
                FROM generate_series(1, 7) AS n
                """)
            await sampler.look()
            let text = metrics.text
            for (state, count) in ["scheduled": 2, "suspended": 1, "running": 1, "queued": 3, "awaitingDecision": 0] {
                #expect(text.contains("\nfetchd_queue_jobs{state=\"\(state)\"} \(count)\n"), "\(state)")
            }
            #expect(text.contains("\nfetchd_queue_oldest_age_seconds{state=\"scheduled\"} 360"))
            #expect(text.contains("\nfetchd_queue_oldest_age_seconds{state=\"running\"} 60"))
            #expect(text.contains("\nfetchd_webhook_backlog 0\n") && text.contains("\nfetchd_questions_open 0\n"))
            #expect(text.contains("\nfetchd_blob_store_bytes 0\n"))
        }
    }
}
