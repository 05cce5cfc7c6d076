import FetchJobs
import Postgres

extension PostgresWorkQueue {
    /// Stores outcomes and removes their jobs from the queue, all in one statement.
    ///
    /// A job that is no longer held under the claim its outcome names is left alone, and its outcome with it.
    ///
    /// - Returns: The claims under which jobs were settled, and whether each was changed since it was stored.
    static func settle(
        _ settlements: [Settlement], client: Client, node: Node.ID
    ) async throws -> [ClaimKey: Bool] {
        let settlements = settlements.sorted { $0.job.comes(before: $1.job) }
        if client.isSharded { return try await settleOnShards(settlements, client: client, node: node) }
        let rows = try await client.query(
            """
            -- queue.settle
            WITH input AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(settlements.column { $0.job.tenant }),
                    \(settlements.column { $0.job.id }),
                    \(settlements.column { $0.job.claim }),
                    \(settlements.column { $0.outcome.state.rawValue }),
                    \(settlements.column { $0.outcome.startedAt }),
                    \(settlements.column { $0.outcome.finishedAt }),
                    \(settlements.column { $0.outcome.status.map { Int16(clamping: $0) } }),
                    \(settlements.column { $0.outcome.response?.json }),
                    \(settlements.column { $0.outcome.errorName }),
                    \(settlements.column { $0.outcome.error }),
                    \(settlements.column { $0.outcome.redirects }),
                    \(settlements.column { $0.outcome.challenges }),
                    \(settlements.column { $0.outcome.file }),
                    \(settlements.column { $0.outcome.transfers?.json }),
                    \(settlements.column { $0.outcome.decisions }),
                    \(settlements.column { $0.outcome.body?.inline }),
                    \(settlements.column { $0.outcome.body?.blob }),
                    \(settlements.column { $0.measured?.bytes }),
                    \(settlements.column { $0.measured?.digest.bytes }),
                    \(settlements.column { $0.job.mayHaveEvents ? WebhookDelivery.ID() : nil }),
                    \(settlements.column { $0.job.spec.webhook?.events?.contains(.jobFinished) })
                ) AS input (
                    tenant_id, job_id, claim, state, started_at, finished_at, status, response, error_name, error,
                    redirects, challenges, file, transfers, decisions, body, blob_id, body_bytes, body_digest,
                    delivery_id, tells_end
                )
            ), settled AS MATERIALIZED (
                SELECT held.*, input.*
                FROM input
                \(Query.held(at: node))
            ), \(Query.leavingQueue), result AS (
                INSERT INTO results (
                    tenant_id, job_id, state, started_at, finished_at, status, response, error_name, error, redirects,
                    challenges, file, body, blob_id, body_bytes, body_digest, attempt, transfers, decisions
                )
                SELECT tenant_id, job_id, state, started_at, finished_at, status, response, error_name, error, redirects,
                    challenges, file, body, blob_id, body_bytes, body_digest, claim, transfers, decisions
                FROM settled
            ), \(Query.countingSettled(at: node, bytes: Query.bodyBytes("settled"), kept: Query.keptBytes("settled")))\(Query.enqueuing(settlements.flatMap(\.callbacks), of: "settled", isSharded: false))
            SELECT job_id, claim, is_changed FROM settled
            """
        )
        return Dictionary(uniqueKeysWithValues: try rows.map { (try ClaimKey($0), try $0.decode(at: 2)) })
    }

    /// The same where results are on other servers than the queue: in one transaction, first whose claims are still held,
    /// then what came of them.
    private static func settleOnShards(
        _ settlements: [Settlement], client: Client, node: Node.ID
    ) async throws -> [ClaimKey: Bool] {
        let callbacks = settlements.flatMap(\.callbacks)
        return try await client.transaction { connection in
            let rows = try await connection.query(
                """
                -- queue.settle
                WITH input AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(settlements.column { $0.job.tenant }),
                        \(settlements.column { $0.job.id }),
                        \(settlements.column { $0.job.claim }),
                        \(settlements.column { $0.outcome.state.rawValue }),
                        \(settlements.column { $0.outcome.body?.bytes }),
                        \(settlements.column { $0.outcome.file == nil ? $0.outcome.body?.bytes : nil }),
                        \(settlements.column { $0.job.mayHaveEvents ? WebhookDelivery.ID() : nil }),
                        \(settlements.column { $0.job.spec.webhook?.events?.contains(.jobFinished) })
                    ) AS input (tenant_id, job_id, claim, state, body_bytes, kept_bytes, delivery_id, tells_end)
                ), settled AS MATERIALIZED (
                    SELECT held.*, input.*
                    FROM input
                    \(Query.held(at: node))
                ), \(Query.leavingQueue),
                \(Query.countingSettled(at: node, bytes: "body_bytes", kept: "kept_bytes"))\(Query.enqueuing(callbacks, of: "settled", isSharded: true))
                SELECT job_id, claim, is_changed FROM settled
                """
            )
            let settled = Dictionary(
                uniqueKeysWithValues: try rows.map { (try ClaimKey($0), try $0.decode(Bool.self, at: 2)) })
            let stored = settlements.filter { settled[$0.job.key] != nil }
            guard !stored.isEmpty else { return settled }
            try await connection.query(results(stored))
            let jobs = stored.flatMap(\.callbacks).map(\.submission)
            if !jobs.isEmpty { try await connection.query(Enqueuing.storing(jobs)) }
            return settled
        }
    }

    private static func results(_ settlements: [Settlement]) -> Query {
        """
        -- results.insert
        INSERT INTO results (
            tenant_id, job_id, state, started_at, finished_at, status, response, error_name, error, redirects,
            challenges, file, body, blob_id, body_bytes, body_digest, attempt, transfers, decisions
        )
        SELECT *
        FROM unnest(
            \(settlements.column { $0.job.tenant }),
            \(settlements.column { $0.job.id }),
            \(settlements.column { $0.outcome.state.rawValue }),
            \(settlements.column { $0.outcome.startedAt }),
            \(settlements.column { $0.outcome.finishedAt }),
            \(settlements.column { $0.outcome.status.map { Int16(clamping: $0) } }),
            \(settlements.column { $0.outcome.response?.json }),
            \(settlements.column { $0.outcome.errorName }),
            \(settlements.column { $0.outcome.error }),
            \(settlements.column { $0.outcome.redirects }),
            \(settlements.column { $0.outcome.challenges }),
            \(settlements.column { $0.outcome.file }),
            \(settlements.column { $0.outcome.body?.inline }),
            \(settlements.column { $0.outcome.body?.blob }),
            \(settlements.column { $0.measured?.bytes }),
            \(settlements.column { $0.measured?.digest.bytes }),
            \(settlements.column { $0.job.claim }),
            \(settlements.column { $0.outcome.transfers?.json }),
            \(settlements.column { $0.outcome.decisions })
        ) AS input (
            tenant_id, job_id, state, started_at, finished_at, status, response, error_name, error, redirects,
            challenges, file, body, blob_id, body_bytes, body_digest, attempt, transfers, decisions
        )
        """
    }
}

extension Query {
    /// Takes the jobs of the part `settled` out of the queue.
    fileprivate static var leavingQueue: Query {
        """
        gone AS (
            DELETE FROM queue q
            WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM settled))
            RETURNING q.tenant_id, q.job_id
        ), moved AS (
            DELETE FROM queue q
            WHERE \(hasMoved(from: "settled", past: "gone"))
        )
        """
    }

    /// Counts the jobs of the part `settled`, stops their flows where they have failed, and tells of their ends.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the body of each.
    ///   - kept: Those that stay with the job.
    fileprivate static func countingSettled(at node: Node.ID, bytes: Query, kept: Query) -> Query {
        """
        \(counting("settled", at: node, bytes: "coalesce(sum(\(bytes)), 0)")),
        \(keeping("settled", at: node, bytes: kept)),
        \(blocking("settled")), delivery AS (
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, session_id, event)
            SELECT s.tenant_id, s.delivery_id, e.id, s.job_id, s.session_id, \(WebhookEvent.jobFinished)
            FROM settled s
            CROSS JOIN LATERAL (
                SELECT e.id
                FROM webhook_endpoints e
                WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
                    AND coalesce(s.tells_end, \(WebhookEvent.jobFinished) = ANY (e.events))
                OFFSET 0
            ) AS e
        )
        """
    }
}

extension JobOutcome.Body {
    fileprivate var inline: [UInt8]? { if case .inline(let bytes) = self { bytes } else { nil } }
    fileprivate var blob: Blob.ID? { if case .blob(let content) = self { content.id } else { nil } }
}
