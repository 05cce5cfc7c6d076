import FetchEngine
package import FetchJobs
import Postgres

// Jobs that are claimed and that nobody runs.

extension PostgresWorkQueue {
    /// Takes the jobs of nodes whose lease has run out from them.
    ///
    /// - Returns: How many jobs were taken.
    func rescue() async throws -> Int {
        let rows = try await client.query(
            """
            -- queue.rescue
            WITH dead AS (
                DELETE FROM nodes WHERE lease_until < now() AND id <> \(node) RETURNING id
            ), forgotten AS (
                DELETE FROM sessions s USING dead WHERE s.kind = 'ephemeral' AND s.node_id = dead.id
            ), lost AS MATERIALIZED (
                SELECT \(Query.lostColumns), \(Query.crashes) AS crashes,
                    q.begun OR q.cancelling OR \(Query.crashes) >= \(Query.chances + maximumCrashes) AS is_over
                FROM queue q
                JOIN dead ON dead.id = q.node_id
                FOR UPDATE OF q
            ), \(Query.rescuing(at: node))
            SELECT job_id FROM lost
            """
        )
        return rows.count
    }

    package func rescueUnheld(
        except held: Set<Job.ID>, unsent: [ClaimedJob]
    ) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- queue.rescueUnheld
                WITH lost AS MATERIALIZED (
                    -- Their node lives.
                    SELECT \(Query.lostColumns), q.crashes,
                        q.cancelling OR q.begun AND NOT EXISTS (
                            SELECT
                            FROM unnest(\(unsent.map(\.id)), \(unsent.map(\.claim))) AS unsent (job_id, claim)
                            WHERE unsent.job_id = q.job_id AND unsent.claim = q.claim
                        ) AS is_over
                    FROM queue q
                    -- What was claimed just now may be on its way here.
                    WHERE q.node_id = \(node) AND q.claimed_at < now() - interval '2 seconds'
                        AND q.job_id <> ALL (\(Array(held)))
                    FOR UPDATE OF q
                ), \(Query.rescuing(at: node))
                SELECT job_id FROM lost
                """
            )
            return rows.count
        }
    }
}

// MARK: Suspects

extension PostgresWorkQueue {
    package func isSuspect(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- queue.isSuspect
                SELECT crashes >= \(Query.chances) FROM queue WHERE tenant_id = \(job.tenant) AND job_id = \(job.id)
                """
            )
            return try rows.first?.decode(Bool.self, at: 0) ?? false
        }
    }

    package func tryAlone(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- queue.tryAlone
                UPDATE queue
                SET trial_claim = claim
                WHERE tenant_id = \(job.tenant) AND job_id = \(job.id) AND claim = \(job.claim) AND node_id = \(node)
                """
            ).affected > 0
        }
    }
}

extension Query {
    fileprivate static var lostColumns: Query {
        """
        q.tenant_id, q.job_id, q.claim, q.node_id, q.claimed_at, q.endpoint_id, q.session_id, q.flow, q.cancelling,
            q.begun
        """
    }

    /// How often a job that was lost with its node has been so by now, as far as it can be blamed: the first times
    /// whoever else ran there may have been the cause, after that it has to have run alone.
    fileprivate static var crashes: Query {
        """
        CASE WHEN q.crashes < \(chances) OR q.trial_claim = q.claim THEN q.crashes + 1 ELSE q.crashes END
        """
    }

    /// How often a job may be lost before it is a suspect.
    fileprivate static let chances: Int16 = 2

    /// What becomes of jobs that were lost with their node, or by it.
    ///
    /// A job goes back to the queue, for any node to claim again, unless a request that must not be repeated may have
    /// left, it was being cancelled, or it takes down one node after the other: then it ends here (REL-5, REL-6). Goes
    /// behind a `WITH` part named `lost`.
    fileprivate static func rescuing(at node: Node.ID) -> Query {
        """
        waiting AS (
            UPDATE queue q
            SET node_id = NULL, claimed_at = NULL, begun = false, crashes = lost.crashes
            FROM lost
            WHERE q.tenant_id = lost.tenant_id AND q.job_id = lost.job_id AND NOT lost.is_over
            RETURNING q.job_id
        ), ended AS (
            DELETE FROM queue q
            USING lost
            WHERE q.tenant_id = lost.tenant_id AND q.job_id = lost.job_id AND lost.is_over
            RETURNING lost.tenant_id, lost.job_id, lost.endpoint_id, lost.session_id,
                CASE WHEN lost.cancelling THEN 'cancelled' ELSE 'failed' END AS state,
                lost.claimed_at AS started_at,
                CASE
                    WHEN lost.cancelling THEN 'cancelled'
                    WHEN lost.begun THEN 'networkConnectionLost'
                    ELSE \(LoadError.Code.workerCrashed.name)
                END AS error_name,
                CASE
                    WHEN lost.cancelling THEN \(RawJSON.cancelled)
                    WHEN lost.begun THEN \(RawJSON.nodeLost)
                    ELSE \(RawJSON.workerCrashed)
                END AS error,
                uuidv7() AS delivery_id, lost.flow
        ), attempt AS (
            INSERT INTO attempts (tenant_id, job_id, number, node_id, started_at, finished_at, state, error_name)
            SELECT tenant_id, job_id, claim, node_id, claimed_at, now(), 'failed', 'networkConnectionLost'
            FROM lost
        ), \(Query.ending(at: node))
        """
    }
}
