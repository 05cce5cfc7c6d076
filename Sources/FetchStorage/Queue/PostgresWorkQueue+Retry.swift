package import FetchJobs
import FetchRuntime
import Postgres

extension PostgresWorkQueue {
    /// An attempt that another one follows.
    struct Retry: Sendable {
        let job: ClaimedJob
        let outcome: JobOutcome
        let wait: Duration
        let callbacks: [Callback]
    }

    /// Stores attempts and lets their jobs wait for the next, all in one statement.
    ///
    /// A job that is no longer held under the claim of its attempt is left alone, and one that is being cancelled too.
    static func retry(_ retries: [Retry], client: Client, node: Node.ID) async throws -> [Bool] {
        let ordered = retries.sorted { $0.job.comes(before: $1.job) }
        let callbacks = ordered.flatMap(\.callbacks)
        let attempt: Query =
            client.isSharded
            ? ""
            : """
            , attempt AS (
                INSERT INTO attempts (
                    tenant_id, job_id, number, started_at, finished_at, state, error_name, status, transfers, decisions,
                    next_at
                )
                SELECT tenant_id, job_id, claim, started_at, finished_at, state, error_name, status, transfers, decisions,
                    run_at
                FROM waiting
            )
            """
        let statement: Query = """
            -- queue.retry
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(ordered.map(\.job.tenant)),
                    \(ordered.map(\.job.id)),
                    \(ordered.map(\.job.claim)),
                    \(ordered.map(\.wait)),
                    \(ordered.map(\.outcome.deadline)),
                    \(ordered.map(\.outcome.startedAt)),
                    \(ordered.map(\.outcome.finishedAt)),
                    \(ordered.map(\.outcome.state)),
                    \(ordered.map(\.outcome.errorName)),
                    \(ordered.map { $0.outcome.status.map { Int16(clamping: $0) } }),
                    \(ordered.map(\.outcome.transfers?.json)),
                    \(ordered.map(\.outcome.decisions)),
                    \(ordered.map(\.job.nextHost))
                ) AS input (
                    tenant_id, job_id, claim, wait, deadline, started_at, finished_at, state, error_name, status,
                    transfers, decisions, next_host
                )
            ), waiting AS (
                UPDATE queue q
                SET node_id = NULL, claimed_at = NULL, begun = false, question_id = NULL, resumes_at = NULL,
                    scheduled = true, run_at = now() + input.wait,
                    tries = q.tries + 1, in_host = false, host = coalesce(input.next_host, q.host),
                    expires_at = least(q.expires_at, input.deadline),
                    -- In a flow with an order, those behind it wait until it is final.
                    in_flow = q.in_flow AND \(Query.isInOrderedFlow)
                FROM input
                WHERE q.tenant_id = input.tenant_id AND q.job_id = input.job_id AND q.claim = input.claim
                    AND q.node_id = \(node) AND NOT q.cancelling
                RETURNING q.run_at, q.in_flow, input.*
            )\(attempt)\(Query.enqueuing(callbacks, of: "waiting", isSharded: client.isSharded))
            SELECT job_id, claim, run_at FROM waiting
            """
        let rows =
            if client.isSharded {
                try await client.transaction { connection in
                    let rows = try await connection.query(statement)
                    try await store(ordered, waiting: rows, on: connection)
                    return rows
                }
            } else { try await client.query(statement) }
        let waiting = Set(try rows.map(ClaimKey.init))
        return retries.map { waiting.contains($0.job.key) }
    }

    /// Stores attempts on other servers than the queue, where it has put their jobs back.
    ///
    /// - Parameter rows: The claims that it has taken back, with the times of the next attempts.
    private static func store(_ retries: [Retry], waiting rows: Rows, on connection: Connection) async throws {
        let times = Dictionary(
            uniqueKeysWithValues: try rows.map { (try ClaimKey($0), try $0.decode(Timestamp.self, at: 2)) })
        let stored = retries.filter { times[$0.job.key] != nil }
        guard !stored.isEmpty else { return }
        try await connection.query(
            """
            -- attempts.retry
            INSERT INTO attempts (
                tenant_id, job_id, number, started_at, finished_at, state, error_name, status, transfers, decisions,
                next_at
            )
            SELECT *
            FROM unnest(
                \(stored.map(\.job.tenant)), \(stored.map(\.job.id)), \(stored.map(\.job.claim)),
                \(stored.map(\.outcome.startedAt)), \(stored.map(\.outcome.finishedAt)),
                \(stored.map(\.outcome.state)), \(stored.map(\.outcome.errorName)),
                \(stored.map { $0.outcome.status.map { Int16(clamping: $0) } }),
                \(stored.map(\.outcome.transfers?.json)), \(stored.map(\.outcome.decisions)),
                \(stored.map { times[$0.job.key] })
            ) AS input (
                tenant_id, job_id, claim, started_at, finished_at, state, error_name, status, transfers, decisions,
                next_at
            )
            """
        )
        let callbacks = stored.flatMap(\.callbacks).map(\.submission)
        if !callbacks.isEmpty { try await connection.query(Enqueuing.storing(callbacks)) }
    }

    /// How many jobs one statement promotes, or ends.
    private static let promotionLimit = 1000

    package func promote() async throws(StoreError) -> Promotion {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- queue.promote
                WITH due AS MATERIALIZED (
                    SELECT tenant_id, job_id
                    FROM queue
                    WHERE scheduled AND run_at <= now()
                    ORDER BY run_at
                    LIMIT \(Self.promotionLimit)
                    FOR UPDATE SKIP LOCKED
                ), promoted AS (
                    UPDATE queue q
                    SET scheduled = false
                    FROM due
                    WHERE q.tenant_id = due.tenant_id AND q.job_id = due.job_id
                    RETURNING q.run_at
                )
                SELECT (SELECT count(*) FROM promoted),
                    EXISTS (SELECT FROM queue WHERE node_id IS NULL AND expires_at <= now()),
                    least(
                        (SELECT min(run_at) FROM queue WHERE scheduled AND run_at > now()),
                        (SELECT min(expires_at) FROM queue WHERE node_id IS NULL AND expires_at > now())
                    ) - now(),
                    (SELECT min(run_at) FROM promoted)
                """
            )
            guard let row = rows.first else { throw StoreError(.failed, "The promotion has no answer.") }
            let promoted = Int(try row.decode(Int64.self, at: 0))
            if let time = try row.decode(Timestamp?.self, at: 3) { scan.noteLate(from: time) }
            var (expired, failures) = (0, [UpkeepFailure]())
            if try row.decode(Bool.self, at: 1) { expired = await expire(&failures) }
            let hasMore = max(promoted, expired) >= Self.promotionLimit
            return Promotion(
                hasQueuedJobs: promoted > 0,
                hasEndedJobs: expired > 0,
                next: hasMore ? .zero : try row.decode(at: 2),
                failures: failures
            )
        }
    }

    /// Ends jobs that have waited for longer than they are good for.
    private func expire(_ failures: inout [UpkeepFailure]) async -> Int {
        var (count, refused) = (0, [UpkeepFailure]())
        await failures.note(.expiry) {
            do {
                count = try await expire(nil)
            } catch let error as PostgresError where error.isRefusal {
                let overdue = try await client.query(
                    """
                    -- queue.overdue
                    SELECT job_id
                    FROM queue
                    WHERE node_id IS NULL AND expires_at <= now()
                    ORDER BY expires_at
                    LIMIT \(Self.promotionLimit)
                    """
                ).map { try $0.decode(Job.ID.self, at: 0) }
                count = try await refused.goAround(overdue, blaming: .expiry, of: { $0 }) { try await expire($0) }
            }
        }
        failures += refused
        return count
    }

    /// - Parameter jobs: Nil for all.
    private func expire(_ jobs: [Job.ID]?) async throws -> Int {
        let rows = try await client.end(
            """
            -- queue.expire
            WITH overdue AS MATERIALIZED (
                SELECT tenant_id, job_id
                FROM queue
                WHERE node_id IS NULL AND expires_at <= now() AND (\(jobs == nil) OR job_id = ANY (\(jobs ?? [])))
                ORDER BY expires_at
                LIMIT \(Self.promotionLimit)
                FOR UPDATE SKIP LOCKED
            ), ended AS (
                DELETE FROM queue q
                USING overdue o
                WHERE q.tenant_id = o.tenant_id AND q.job_id = o.job_id
                RETURNING q.tenant_id, q.job_id, 'failed' AS state, NULL::timestamptz AS started_at,
                    'timedOut' AS error_name, \(RawJSON.expired) AS error, q.endpoint_id, q.session_id,
                    uuidv7() AS delivery_id, q.flow
            ), \(Query.ending(at: node, isSharded: client.isSharded))
            SELECT job_id\(Query.endedColumns(client.isSharded)) FROM ended
            """, at: 1, isSharded: client.isSharded)
        waiters.finish(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        return rows.count
    }
}

extension Query {
    /// Whether the flow of a row `q` of the queue lets its jobs pass in their order.
    static let isInOrderedFlow: Query = """
        EXISTS (
            SELECT
            FROM limiters l
            WHERE l.tenant_id = q.tenant_id AND l.kind = 'flow' AND l.key = q.flow AND l.in_order
        )
        """
}
