import FetchEngine
package import FetchJobs
import FetchRuntime
import Postgres
import Synchronization

// Jobs that are claimed and that no node runs.

extension PostgresWorkQueue {
    package func rescue() async throws(StoreError) -> Rescue {
        try await StoreError.wrap {
            var (count, failures) = (0, [UpkeepFailure]())
            for lost in try await lostNodes() { try await count += take(from: lost, &failures) }
            if orphans.isDue() {
                for lost in try await nodesOfOrphans() { try await count += takeOrphans(of: lost, &failures) }
            }
            await failures.note(.rescue) { try await storeOwedCallbacks() }
            // Others have room for them, too.
            if count > 0, peers.exist { try await Notifications.tell(client) }
            return Rescue(count: count, failures: failures, next: try await untilNextLoss())
        }
    }

    /// Takes the jobs of a node whose lease has run out: all at once, and when that is refused, without the bad rows.
    private func take(from lost: Node.ID, _ failures: inout [UpkeepFailure]) async throws -> Int {
        do {
            return try await rescue(Query.dead(lost))
        } catch let error as PostgresError where error.isRefusal {
            try await client.query("-- nodes.forget\nWITH \(Query.dead(lost)) SELECT id FROM dead")
            return try await takeOrphans(of: lost, &failures)
        }
    }

    private func takeOrphans(of lost: Node.ID, _ failures: inout [UpkeepFailure]) async throws -> Int {
        let jobs = try await client.query("-- queue.orphans\nSELECT job_id FROM queue WHERE node_id = \(lost)")
            .map { try $0.decode(Job.ID.self, at: 0) }
        return try await failures.goAround(jobs, blaming: .rescue, of: { $0 }) { jobs in
            try await rescue(Query.gone(lost), of: jobs)
        }
    }

    /// - Parameters:
    ///   - dead: The node, if it is, as a `WITH` part of that name.
    ///   - jobs: Nil for all that it has.
    /// - Returns: How many jobs were taken.
    private func rescue(_ dead: Query, of jobs: [Job.ID]? = nil) async throws -> Int {
        let isOver: Query = "q.begun OR q.cancelling OR \(Query.crashes) >= \(Query.chances + maximumCrashes)"
        let found: Query = """
            FROM queue q
            JOIN dead ON dead.id = q.node_id
            WHERE \(jobs == nil) OR q.job_id = ANY (\(jobs ?? []))
            -- In one order, so that no other statement and this one can wait for each other.
            ORDER BY q.tenant_id, q.job_id
            FOR UPDATE OF q
            """
        let rows =
            try await client.isSharded
            ? rescueOnShards(
                "-- queue.lock\nWITH \(dead) SELECT q.tenant_id, q.job_id \(found)", crashes: Query.crashes,
                isOver: isOver)
            : client.query(
                """
                -- queue.rescue
                WITH \(dead), lost AS MATERIALIZED (
                    SELECT \(Query.lostColumns(false)), \(Query.crashes) AS crashes, \(isOver) AS is_over
                    \(found)
                ), \(Query.rescuing(at: node, isSharded: false))
                SELECT job_id, is_over FROM lost
                """
            )
        let ended = try rows.filter { try $0.decode(Bool.self, at: 1) }
        waiters.finish(try ended.map { try $0.decode(Job.ID.self, at: 0) })
        return rows.count
    }

    private func lostNodes() async throws -> [Node.ID] {
        try await client.query(
            """
            -- nodes.lost
            SELECT id FROM nodes WHERE lease_until < now() AND id <> \(node) ORDER BY lease_until LIMIT 100
            """
        ).map { try $0.decode(Node.ID.self, at: 0) }
    }

    /// Nodes that are gone and yet have jobs: they claimed them while their own were being rescued.
    private func nodesOfOrphans() async throws -> [Node.ID] {
        try await client.query(
            """
            -- nodes.ofOrphans
            SELECT DISTINCT q.node_id
            FROM queue q
            WHERE q.node_id IS NOT NULL AND q.node_id <> \(node) AND q.claimed_at < now() - \(lease)
                AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = q.node_id)
            """
        ).map { try $0.decode(Node.ID.self, at: 0) }
    }

    private func untilNextLoss() async throws -> Duration? {
        try await client.query("-- nodes.nextLoss\nSELECT min(lease_until) - now() FROM nodes WHERE id <> \(node)")
            .first?.decode(Duration?.self, at: 0) ?? nil
    }

    package func reconcile(
        except held: Set<Job.ID>, unsent: [ClaimedJob]
    ) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            let isOver: Query = """
                q.cancelling OR q.begun AND NOT EXISTS (
                    SELECT
                    FROM unnest(\(unsent.map(\.id)), \(unsent.map(\.claim))) AS unsent (job_id, claim)
                    WHERE unsent.job_id = q.job_id AND unsent.claim = q.claim
                )
                """
            let found: Query = """
                FROM queue q
                -- What was claimed just now may be on its way here.
                WHERE q.node_id = \(node) AND q.claimed_at < now() - interval '2 seconds'
                    AND q.job_id <> ALL (\(Array(held)))
                ORDER BY q.tenant_id, q.job_id
                FOR UPDATE OF q
                """
            // Their node lives.
            guard !client.isSharded else {
                return try await rescueOnShards(
                    "-- queue.lock\nSELECT q.tenant_id, q.job_id \(found)", crashes: "q.crashes", isOver: isOver
                ).count
            }
            return try await client.query(
                """
                -- queue.reconcile
                WITH lost AS MATERIALIZED (
                    SELECT \(Query.lostColumns(false)), q.crashes, \(isOver) AS is_over
                    \(found)
                ), \(Query.rescuing(at: node, isSharded: false))
                SELECT job_id FROM lost
                """
            ).count
        }
    }

    /// The same where jobs and results are on other servers than the queue: locks the rows, asks what there is of them
    /// there, and goes on with the answers.
    ///
    /// - Parameters:
    ///   - locking: Finds and locks the rows.
    ///   - crashes: How often each was lost then.
    ///   - isOver: Whether it ends.
    /// - Returns: The job of each row, and whether it ends.
    private func rescueOnShards(_ locking: Query, crashes: Query, isOver: Query) async throws -> Rows {
        try await client.transaction { [node] connection in
            let found = try await connection.query(locking)
            let tenants = try found.map { try $0.decode(Tenant.ID.self, at: 0) }
            let ids = try found.map { try $0.decode(Job.ID.self, at: 1) }
            guard !ids.isEmpty else { return found }
            let final = try await connection.finalJobs(among: ids, of: Set(tenants))
            let timeouts = try await connection.query(
                """
                -- jobs.timeouts
                SELECT id, spec #>> '{configuration,timeouts,timeoutIntervalForResource}'
                FROM jobs
                WHERE tenant_id = ANY (\(Array(Set(tenants)))) AND id = ANY (\(ids))
                """
            ).map { (try $0.decode(Job.ID.self, at: 0), try $0.decode(String?.self, at: 1)) }
            let seconds = Dictionary(timeouts, uniquingKeysWith: { first, _ in first })
            let rows = try await connection.query(
                """
                -- queue.rescue
                WITH known AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(tenants), \(ids), \(ids.map { final.contains($0) }), \(ids.map { seconds[$0] ?? nil })
                    ) AS known (tenant_id, job_id, has_result, seconds)
                ), lost AS MATERIALIZED (
                    SELECT \(Query.lostColumns(true)), \(crashes) AS crashes, \(isOver) AS is_over
                    FROM known
                    JOIN queue q ON q.tenant_id = known.tenant_id AND q.job_id = known.job_id
                ), \(Query.rescuing(at: node, isSharded: true))
                SELECT l.job_id, l.is_over, l.tenant_id, l.claim, l.claimed_at,
                    NOT l.has_result AND (l.is_over OR l.waits_at IS NULL), e.*
                FROM lost l
                LEFT JOIN (SELECT true\(Query.endedColumns(true)) FROM ended) AS e
                    ON e.tenant_id = l.tenant_id AND e.job_id = l.job_id
                """
            )
            let lost = try rows.filter { try $0.decode(Bool.self, at: 5) }
            if !lost.isEmpty {
                try await connection.query(
                    """
                    -- attempts.lost
                    INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state, error_name)
                    SELECT tenant_id, job_id, claim, claimed_at, now(), 'failed', 'networkConnectionLost'
                    FROM unnest(
                        \(try lost.map { try $0.decode(Tenant.ID.self, at: 2) }),
                        \(try lost.map { try $0.decode(Job.ID.self, at: 0) }),
                        \(try lost.map { try $0.decode(Int32.self, at: 3) }),
                        \(try lost.map { try $0.decode(Timestamp.self, at: 4) })
                    ) AS input (tenant_id, job_id, claim, claimed_at)
                    """
                )
            }
            try await connection.storeEnds(rows, at: 7)
            return rows
        }
    }
}

extension Query {
    /// A node whose lease has run out, as `dead`; it is forgotten, with everything in its memory.
    fileprivate static func dead(_ lost: Node.ID) -> Query {
        """
        dead AS (
            DELETE FROM nodes WHERE id = \(lost) AND lease_until < now() RETURNING id, volume
        ), volumes_left AS (
            INSERT INTO volumes (number, left_at)
            SELECT volume, now() FROM dead
            ON CONFLICT (number) DO UPDATE SET left_at = excluded.left_at
        ), forgotten AS (
            DELETE FROM sessions s USING dead WHERE s.kind = 'ephemeral' AND s.node_id = dead.id
        )
        """
    }

    /// One that was forgotten already.
    fileprivate static func gone(_ lost: Node.ID) -> Query {
        "dead AS (SELECT \(lost) AS id WHERE NOT EXISTS (SELECT FROM nodes WHERE id = \(lost)))"
    }

    /// - Parameter isSharded: Whether a row `known` tells what is on other servers.
    fileprivate static func lostColumns(_ isSharded: Bool) -> Query {
        let more: Query =
            isSharded
            ? "known.has_result, known.seconds"
            : "EXISTS (SELECT FROM results r WHERE r.tenant_id = q.tenant_id AND r.job_id = q.job_id) AS has_result"
        return """
            q.tenant_id, q.job_id, q.claim, q.node_id, q.claimed_at, q.endpoint_id, q.session_id, q.flow, q.cancelling,
                q.begun, CASE WHEN \(waitsAtPosition) THEN q.question_id END AS waits_at,
                \(more)
            """
    }

    /// How many of the losses of a job count against it, this one included.
    ///
    /// The first ones count although another job of the node may have been the cause. After them, only the loss of a
    /// node that ran the job alone counts. None counts while the job waits at a stored position.
    fileprivate static var crashes: Query {
        """
        CASE WHEN \(waitsAtPosition) THEN q.crashes WHEN q.crashes < \(chances) OR q.trial_claim = q.claim THEN q.crashes + 1 ELSE q.crashes END
        """
    }

    /// How often a job may be lost before it is a suspect.
    fileprivate static let chances: Int16 = 2

    /// The time that all attempts of a job have together, of which the lost one was the first (SES-9), by the job or
    /// its session.
    ///
    /// It is null where neither has it, or not as a number: no row may keep a node from rescuing the others.
    private static func timeoutIntervalForResource(_ isSharded: Bool) -> Query {
        let job: Query =
            isSharded
            ? """
            (
                SELECT lost.tenant_id, lost.job_id AS id,
                    json_build_object(
                        'configuration',
                        json_build_object('timeouts', json_build_object('timeoutIntervalForResource', lost.seconds))
                    ) AS spec
            )
            """ : "jobs"
        return """
            (
                SELECT interval '1 second' * CASE WHEN seconds ~ '^\\d{1,9}(\\.\\d{1,9})?$' THEN seconds::double precision END
                FROM \(job) j
                LEFT JOIN sessions s ON s.tenant_id = j.tenant_id AND s.id = lost.session_id
                CROSS JOIN LATERAL (
                    SELECT coalesce(
                        j.spec #>> '{configuration,timeouts,timeoutIntervalForResource}',
                        s.spec #>> '{configuration,timeouts,timeoutIntervalForResource}'
                    )
                ) AS said (seconds)
                WHERE j.tenant_id = lost.tenant_id AND j.id = lost.job_id
            )
            """
    }

    /// Puts jobs that were lost with their node, or by it, back into the queue, or ends them.
    ///
    /// A job goes back to the queue, for any node to claim again, unless a request that must not be repeated may have
    /// left, it was being cancelled, or it takes down one node after the other: then it ends here (REL-5, REL-6). One
    /// that waits at a stored position is parked there. Goes behind a `WITH` part named `lost`.
    ///
    /// With tables on several servers, what the statement does not reach is stored by whoever runs it.
    fileprivate static func rescuing(at node: Node.ID, isSharded: Bool) -> Query {
        let attempt: Query =
            isSharded
            ? ""
            : """
            , attempt AS (
                INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state, error_name)
                SELECT tenant_id, job_id, claim, claimed_at, now(), 'failed', 'networkConnectionLost'
                FROM lost
                WHERE NOT has_result AND (is_over OR waits_at IS NULL)
            )
            """
        return """
            waiting AS (
                UPDATE queue q
                SET \(leaving), crashes = lost.crashes,
                    -- A position has the time that is left.
                    expires_at = CASE
                        WHEN q.resumes_at IS NULL
                            THEN least(q.expires_at, lost.claimed_at + \(timeoutIntervalForResource(isSharded)))
                        ELSE q.expires_at
                    END
                FROM lost
                WHERE q.tenant_id = lost.tenant_id AND q.job_id = lost.job_id AND NOT lost.is_over AND NOT lost.has_result
                RETURNING q.job_id
            ), superseded AS (
                -- Whoever asked is gone; the next attempt asks anew. Those of jobs that end go with them.
                UPDATE questions a
                SET state = 'closed', reason = \(StoredQuestion.Reason.superseded), ended_at = now()
                FROM lost
                WHERE a.tenant_id = lost.tenant_id AND a.job_id = lost.job_id AND a.state = 'open'
                    AND (NOT lost.is_over AND a.id IS DISTINCT FROM lost.waits_at OR lost.has_result)
            ), asking AS (
                -- Nobody knows how far the lost node came with it; it is asked under the same id.
                UPDATE questions a
                SET ask_at = now()
                FROM lost
                WHERE a.tenant_id = lost.tenant_id AND a.id = lost.waits_at AND a.endpoint_id IS NOT NULL
                    AND NOT lost.is_over AND NOT lost.has_result
            ), final AS (
                -- What has its result is final, whatever left it here.
                DELETE FROM queue q
                USING lost
                WHERE q.tenant_id = lost.tenant_id AND q.job_id = lost.job_id AND lost.has_result
            ), ended AS (
                DELETE FROM queue q
                USING lost
                WHERE q.tenant_id = lost.tenant_id AND q.job_id = lost.job_id AND lost.is_over AND NOT lost.has_result
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
            )\(attempt), \(Query.ending(at: node, isSharded: isSharded))
            """
    }
}

/// When to look for jobs of unknown nodes: at the start and every minute, because that reads all running jobs.
final class OrphanLook: Sendable {
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
        last.withLock { last in
            if let last, now - last < .seconds(60) { return false }
            last = now
            return true
        }
    }
}
