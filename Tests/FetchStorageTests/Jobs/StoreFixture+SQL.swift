import FetchJobs
import Postgres
import TestSupport
import Testing

extension StoreFixture {
    /// Stores a job as another service does.
    @discardableResult
    func enqueueBySQL(_ job: String, on runner: (any QueryRunner)? = nil) async throws -> Job.ID {
        let rows = try await (runner ?? database.client).query("SELECT fetchd.enqueue(\(job)::text::json)")
        let id = try #require(try rows.first?.decode(String.self, at: 0))
        return try #require(Job.ID(id))
    }

    /// The error of the database about a job; empty for none.
    func refusal(of job: String) async throws -> String {
        do {
            try await enqueueBySQL(job)
            return ""
        } catch let error as PostgresError {
            return error.message
        }
    }

    /// All that is stored of a job beside its spec and its times.
    func columns(of id: Job.ID) async throws -> String? {
        // Over one server SQL stores no host, whatever forms the statements of this program have.
        let isIgnored = TestDatabase.isSharded && !TestDatabase.hasCitus
        let jobs = try await database.client.query(
            """
            SELECT row(tenant_id, kind, host, session, labels, group_id)::text, created_at
            FROM jobs
            WHERE id = \(id)
            """)
        guard let job = jobs.first else { return nil }
        let (own, storedAt) = (try job.decode(String.self, at: 0), try job.decode(Timestamp.self, at: 1))
        let rows = try await database.client.query(
            """
            SELECT row(
                q.group_id, q.rank, q.session_id, q.endpoint_id, q.scheduled, q.discretionary, q.suspended,
                q.expires_at,
                CASE WHEN q.discretionary THEN (q.run_at - \(storedAt))::text WHEN q.scheduled THEN q.run_at::text END,
                q.flow, q.gate, CASE WHEN NOT \(isIgnored) THEN q.host END, q.claim, q.tries,
                ARRAY(
                    SELECT h.blob_id FROM blob_pins h WHERE h.tenant_id = q.tenant_id AND h.job_id = q.job_id ORDER BY 1
                )
            )::text
            FROM queue q
            WHERE q.job_id = \(id)
            """)
        return try rows.first.map { own + (try $0.decode(String.self, at: 0)) }
    }
}
