import FetchEngine
import FetchJobs
import Postgres

extension Query {
    /// The end of jobs that no attempt settles: their results, the counts, and the events to their endpoints.
    ///
    /// Goes behind a `WITH` part named `ended`, which has the columns `tenant_id`, `job_id`, `state`, `started_at`,
    /// `error_name`, `error`, `endpoint_id`, `session_id`, `delivery_id` and `flow`.
    ///
    /// With tables on several servers only what the coordinator has: ``TransactionRunner/end(_:at:isSharded:)`` stores the
    /// rest.
    static func ending(at node: Node.ID, isSharded: Bool) -> Query {
        let ofCoordinator: Query = """
            \(Query.counting("ended", at: node, bytes: "0")), withdrawn AS (
                -- The question that a parked job waits for.
                UPDATE questions a
                SET state = 'closed', reason = \(StoredQuestion.Reason.withdrawn), ended_at = now()
                FROM ended d
                WHERE a.tenant_id = d.tenant_id AND a.job_id = d.job_id AND a.state = 'open'
            ), \(Query.blocking("ended"))
            """
        guard !isSharded else { return ofCoordinator }
        return """
            result AS (
                INSERT INTO results (tenant_id, job_id, state, started_at, error_name, error)
                SELECT tenant_id, job_id, state, started_at, error_name, error
                FROM ended
            ), \(ofCoordinator), \(Query.owingCallbacks(of: "ended")), delivery AS (
                INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, session_id, event)
                SELECT d.tenant_id, d.delivery_id, e.id, d.job_id, d.session_id, \(WebhookEvent.jobFinished)
                FROM ended d
                JOIN webhook_endpoints e ON e.tenant_id = d.tenant_id AND e.id = d.endpoint_id
                JOIN jobs j ON j.tenant_id = d.tenant_id AND j.id = d.job_id
                WHERE wants_event(j.spec, e.events, \(WebhookEvent.jobFinished))
            )
            """
    }

    /// Counts final jobs.
    ///
    /// - Parameters:
    ///   - source: A `WITH` part that has the columns `tenant_id` and `state`.
    ///   - bytes: How many bytes the bodies of a group of its rows have.
    static func counting(_ source: Query, at node: Node.ID, bytes: Query) -> Query {
        """
        count AS (
            INSERT INTO job_counts (tenant_id, minute, node_id, state, jobs, body_bytes)
            SELECT tenant_id, date_trunc('minute', now()), \(node), state, count(*), \(bytes)
            FROM \(source)
            GROUP BY tenant_id, state
            -- In one order, so that two statements of this node cannot wait for each other.
            ORDER BY tenant_id, state
            ON CONFLICT (tenant_id, minute, node_id, state) DO UPDATE
            SET jobs = job_counts.jobs + excluded.jobs, body_bytes = job_counts.body_bytes + excluded.body_bytes
        )
        """
    }

    /// Has flows stop for jobs that failed, when they are to.
    ///
    /// - Parameter source: A `WITH` part that has the columns `tenant_id`, `job_id`, `state` and `flow`.
    static func blocking(_ source: Query) -> Query {
        """
        blocking AS (
            INSERT INTO flow_blocks (tenant_id, flow, job_id)
            SELECT s.tenant_id, s.flow, s.job_id
            FROM \(source) s
            CROSS JOIN LATERAL (
                SELECT
                FROM limiters l
                WHERE l.tenant_id = s.tenant_id AND l.kind = 'flow' AND l.key = s.flow AND l.blocks
                OFFSET 0
            ) AS l
            WHERE s.flow IS NOT NULL AND s.state = 'failed'
            ON CONFLICT DO NOTHING
        )
        """
    }
}

extension RawJSON {
    /// The error of a job that was cancelled before it ran.
    static let cancelled = RawJSON(.cancelled, "The job was cancelled before it ran.")

    /// The error of a job that could not be started in time.
    static let expired = RawJSON(.timedOut, "The job expired while it waited: expiresAt has passed.")

    /// The error of a job whose node was lost while a request was out that must not be repeated (REL-6).
    static let nodeLost = RawJSON(
        .networkConnectionLost,
        "The node that ran the job was lost after the request may have left; a request of this method is not repeated."
    )

    /// The error of a job that takes down the nodes that run it (REL-5).
    static let workerCrashed = RawJSON(
        .workerCrashed, "Each time the job ran, its node was lost, time after time with no other job to blame for it.")

    /// An error that is no load's.
    init(_ code: LoadError.Code, _ message: String) {
        self.init(
            JSONWriter.object { writer in
                writer.member("domain", "NSURLErrorDomain")
                writer.member("code", code.number)
                writer.member("name", code.name)
                writer.member("message", message)
                writer.member("retriable", false)
            }
        )
    }
}
