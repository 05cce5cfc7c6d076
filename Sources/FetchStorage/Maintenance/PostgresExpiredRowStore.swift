package import FetchJobs
package import Postgres
import Synchronization

/// Removes the expired rows in PostgreSQL, some rows at a time.
package struct PostgresExpiredRowStore: ExpiredRowStore {
    private let client: Client
    private let limit: Int
    private let layers = UnusedLayers()

    /// - Parameter limit: How many rows of a kind one statement removes; of each tenant, where that leads them.
    package init(client: Client, limit: Int = 1000) {
        self.client = client
        self.limit = limit
    }

    package func remove(_ expiredRow: ExpiredRow, keeping retention: Retention) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            switch expiredRow {
            case .layers: return try await layers.remove(with: client)
            case .idempotencyKeys: return try await delete(idempotencyKeys(retention.idempotencyKeys))
            case .uniqueKeys: return try await delete(uniqueKeys)
            case .cookies: return try await delete(cookies(retention.cookies))
            case .deliveries: return try await delete(deliveries(retention.deliveries))
            case .credentialUses: return try await delete(credentialUses(retention.credentialUses))
            case .counts: return try await delete(counts(retention.counts))
            case .traffic: return try await delete(traffic(retention.counts))
            case .keptBodies: return try await delete(keptBodies)
            case .groups:
                guard let age = retention.jobs else { return 0 }
                return try await delete(groups(age))
            case .questions:
                let closed = try await client.query(overdueQuestions).count + delete(positions)
                guard let age = retention.jobs else { return closed }
                return try await closed + (client.isSharded ? removeQuestionsOnShards(age) : delete(questions(age)))
            case .rememberedAnswers: return try await delete(rememberedAnswers)
            case .cacheTurns: return try await delete(cacheTurns)
            case .circuits: return try await delete(.circuits(retention.circuits, limit))
            case .limiters: return try await delete(.limiters(retention.limiters, limit))
            case .flowBlocks:
                return try await client.isSharded ? removeFlowBlocksOnShards() : delete(.flowBlocks(limit))
            case .auditEntries:
                return try await removeAuditEntries(retention.audit, Int64(retention.auditEntries))
            case .volumes: return try await delete(volumes)
            case .signIns: return try await delete(signIns)
            }
        }
    }

    private func delete(_ statement: Query) async throws -> Int { try await client.query(statement).count }

    private func idempotencyKeys(_ age: Duration) -> Query {
        """
        -- expired.idempotencyKeys
        DELETE FROM idempotency_keys k
        USING (
            SELECT tenant_id, key
            FROM idempotency_keys
            WHERE created_at < now() - \(age)
            ORDER BY created_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE k.tenant_id = old.tenant_id AND k.key = old.key
        RETURNING 1
        """
    }

    /// An upload that grows there is removed after a week, and its client told that there is none.
    private var volumes: Query {
        """
        -- expired.volumes
        DELETE FROM volumes v
        WHERE left_at < now() - interval '30 days' AND NOT EXISTS (SELECT FROM nodes n WHERE n.volume = v.number)
        RETURNING 1
        """
    }

    /// Not at once: somebody who was refused for one looks for its job.
    private var uniqueKeys: Query {
        """
        -- expired.uniqueKeys
        DELETE FROM unique_keys k
        USING (
            SELECT tenant_id, key
            FROM unique_keys
            WHERE expires_at < now() - interval '1 minute'
            ORDER BY expires_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE k.tenant_id = old.tenant_id AND k.key = old.key
        RETURNING 1
        """
    }

    /// Those in a layer above others stay, for they may hide a cookie there that must not come back.
    private func cookies(_ age: Duration) -> Query {
        """
        -- expired.cookies
        WITH upper AS MATERIALIZED (
            SELECT tenant_id, unnest(layer_ids[:cardinality(layer_ids) - 1]) AS layer_id
            FROM session_stores
            WHERE cardinality(layer_ids) > 1
            UNION
            SELECT tenant_id, unnest(layer_ids[:cardinality(layer_ids) - 1])
            FROM session_snapshots
            WHERE cardinality(layer_ids) > 1
        )
        DELETE FROM cookies c
        USING (
            SELECT e.tenant_id, e.layer_id, e.key
            FROM cookies e
            WHERE e.expires_at < now() - \(age)
                AND NOT EXISTS (
                    SELECT FROM upper u WHERE u.tenant_id = e.tenant_id AND u.layer_id = e.layer_id
                )
            ORDER BY e.expires_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE c.tenant_id = old.tenant_id AND c.layer_id = old.layer_id AND c.key = old.key
        RETURNING 1
        """
    }

    /// Ids tell when deliveries began: those of newer ones need not be looked at.
    private func deliveries(_ age: Duration) -> Query {
        """
        -- expired.deliveries
        WITH old AS MATERIALIZED (
            SELECT over.tenant_id, over.id
            FROM tenants t
            CROSS JOIN LATERAL (
                SELECT d.tenant_id, d.id
                FROM webhook_deliveries d
                WHERE d.tenant_id = t.id AND d.id < \(WebhookDelivery.ID(earliestAt: .now.advanced(by: .zero - age)))
                    AND d.state <> 'pending' AND coalesce(d.last_attempt_at, d.created_at) < now() - \(age)
                ORDER BY d.id
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ) AS over
        ), attempt AS (
            DELETE FROM webhook_attempts a USING old WHERE a.tenant_id = old.tenant_id AND a.delivery_id = old.id
        )
        DELETE FROM webhook_deliveries d
        USING old
        WHERE d.tenant_id = old.tenant_id AND d.id = old.id
        RETURNING 1
        """
    }

    private func credentialUses(_ age: Duration) -> Query {
        """
        -- expired.credentialUses
        DELETE FROM credential_uses u
        USING tenants t, LATERAL (
            SELECT o.id
            FROM credential_uses o
            WHERE o.tenant_id = t.id AND o.id < \(CredentialUse.ID(earliestAt: .now.advanced(by: .zero - age)))
            ORDER BY o.id
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE u.tenant_id = t.id AND u.id = old.id
        RETURNING 1
        """
    }

    /// Chain by chain, so that no statement holds up the places of several.
    private func removeAuditEntries(_ age: Duration, _ most: Int64) async throws -> Int {
        let chains = try await client.query(
            """
            -- expired.auditChains
            SELECT c.tenant_id
            FROM audit_chains c
            JOIN audit_entries e ON e.tenant_id = c.tenant_id AND e.sequence = c.anchor_sequence + 1
            WHERE e.at < now() - \(age) OR c.head_sequence - c.anchor_sequence > \(most)
            """
        )
        var count = 0
        for row in chains {
            let chain = try row.decode(Tenant.ID.self, at: 0)
            let rows = try await client.query(
                """
                -- expired.auditEntries
                SELECT remove_audit_entries(\(chain), \(age), \(most), \(Int32(limit)))
                """
            )
            count += Int(try rows.first?.decode(Int64.self, at: 0) ?? 0)
        }
        return count
    }

    private func counts(_ age: Duration) -> Query {
        """
        -- expired.counts
        DELETE FROM job_counts c
        USING tenants t, LATERAL (
            SELECT o.minute, o.node_id, o.state
            FROM job_counts o
            WHERE o.tenant_id = t.id AND o.minute < now() - \(age)
            ORDER BY o.minute
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE c.tenant_id = t.id AND c.minute = old.minute AND c.node_id = old.node_id AND c.state = old.state
        RETURNING 1
        """
    }

    private func traffic(_ age: Duration) -> Query {
        """
        -- expired.traffic
        DELETE FROM traffic c
        USING tenants t, LATERAL (
            SELECT o.day, o.node_id
            FROM traffic o
            WHERE o.tenant_id = t.id AND o.day < ((now() - \(age)) AT TIME ZONE 'UTC')::date
            ORDER BY o.day
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE c.tenant_id = t.id AND c.day = old.day AND c.node_id = old.node_id
        RETURNING 1
        """
    }

    /// They are added to the row of those that are gone.
    private var keptBodies: Query {
        """
        -- expired.keptBodies
        WITH gone AS (
            DELETE FROM kept_bodies k
            USING (
                SELECT o.tenant_id, o.node_id
                FROM kept_bodies o
                WHERE o.node_id <> \(Self.noNode) AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = o.node_id)
                ORDER BY o.tenant_id, o.node_id
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ) AS old
            WHERE k.tenant_id = old.tenant_id AND k.node_id = old.node_id
            RETURNING k.tenant_id, k.bytes
        )
        INSERT INTO kept_bodies (tenant_id, node_id, bytes)
        SELECT tenant_id, \(Self.noNode), sum(bytes)
        FROM gone
        GROUP BY tenant_id
        ORDER BY tenant_id
        ON CONFLICT (tenant_id, node_id) DO UPDATE SET bytes = kept_bodies.bytes + excluded.bytes
        RETURNING 1
        """
    }

    private static let noNode: Query = "'00000000-0000-0000-0000-000000000000'::uuid"

    /// Groups whose event is not sent yet stay.
    private func groups(_ age: Duration) -> Query {
        """
        -- expired.groups
        DELETE FROM groups g
        USING tenants t, LATERAL (
            SELECT o.id
            FROM groups o
            WHERE o.tenant_id = t.id AND o.id < \(JobGroup.ID(earliestAt: .now.advanced(by: .zero - age)))
                AND o.finished_at < now() - \(age)
                AND NOT EXISTS (
                    SELECT
                    FROM webhook_deliveries d
                    WHERE d.tenant_id = o.tenant_id AND d.group_id = o.id AND d.state = 'pending'
                )
            ORDER BY o.id
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE g.tenant_id = t.id AND g.id = old.id
        RETURNING 1
        """
    }

    /// Closes open ones whose node did not: their jobs wait for nothing, and they take no room from others.
    ///
    /// The job of a parked one is promoted at its deadline, and the node that claims it closes the question.
    private var overdueQuestions: Query {
        """
        -- expired.openQuestions
        WITH overdue AS MATERIALIZED (
            SELECT o.tenant_id, o.id, o.job_id
            FROM tenants t
            CROSS JOIN LATERAL (
                SELECT a.tenant_id, a.id, a.job_id
                FROM questions a
                WHERE a.tenant_id = t.id AND a.state = 'open' AND a.deadline < now() - interval '1 minute'
                    AND NOT EXISTS (
                        SELECT
                        FROM queue q
                        WHERE q.tenant_id = a.tenant_id AND q.job_id = a.job_id AND q.question_id = a.id
                            AND q.node_id IS NULL
                    )
                -- By the index of deadlines: those that are not over are not read.
                ORDER BY a.deadline
                LIMIT \(limit)
            ) AS o
        ), waiting AS MATERIALIZED (
            SELECT q.tenant_id, q.job_id, o.id, q.node_id IS NULL AS is_parked
            FROM overdue o
            JOIN queue q ON q.tenant_id = o.tenant_id AND q.job_id = o.job_id AND q.question_id = o.id
            -- In one order, so that no two statements wait for each other; a job before its question everywhere.
            ORDER BY q.tenant_id, q.job_id
            FOR UPDATE OF q
        ), closed AS (
            UPDATE questions a
            SET state = 'closed', reason = 'expired', ended_at = now()
            FROM overdue o
            CROSS JOIN (SELECT count(*) FROM waiting) AS locked
            WHERE a.tenant_id = o.tenant_id AND a.id = o.id AND a.state = 'open'
                AND NOT EXISTS (SELECT FROM waiting w WHERE w.id = o.id AND w.is_parked)
            RETURNING a.tenant_id, a.id, a.job_id
        ), going AS (
            UPDATE queue q
            SET question_id = NULL
            FROM closed c
            WHERE q.tenant_id = c.tenant_id AND q.job_id = c.job_id AND q.question_id = c.id
        )
        SELECT FROM closed
        """
    }

    /// Positions hold secrets and responses, and serve jobs alone that are not final.
    private var positions: Query {
        """
        -- expired.positions
        UPDATE questions a
        SET "position" = NULL
        FROM (
            SELECT o.tenant_id, o.id
            FROM tenants t
            CROSS JOIN LATERAL (
                SELECT a.tenant_id, a.id
                FROM questions a
                WHERE a.tenant_id = t.id AND a."position" IS NOT NULL AND a.state <> 'open'
                    AND a.ended_at < now() - interval '1 minute'
                    AND NOT EXISTS (
                        SELECT
                        FROM queue q
                        WHERE q.tenant_id = a.tenant_id AND q.job_id = a.job_id AND q.resumes_at = a.id
                    )
                ORDER BY a.ended_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ) AS o
        ) AS old
        WHERE a.tenant_id = old.tenant_id AND a.id = old.id
        RETURNING 1
        """
    }

    /// Partitions of jobs are dropped whole; what was asked goes when its job has.
    private func questions(_ age: Duration) -> Query {
        """
        -- expired.questions
        DELETE FROM questions a
        USING tenants t, LATERAL (
            SELECT o.id
            FROM questions o
            WHERE o.tenant_id = t.id AND o.state <> 'open' AND o.ended_at < now() - \(age)
                AND NOT EXISTS (SELECT FROM jobs j WHERE j.tenant_id = o.tenant_id AND j.id = o.job_id)
            ORDER BY o.ended_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE a.tenant_id = t.id AND a.id = old.id
        RETURNING 1
        """
    }

    /// The same where jobs are on other servers than what was asked, which are asked for them by themselves.
    private func removeQuestionsOnShards(_ age: Duration) async throws -> Int {
        let old = try await client.query(
            """
            -- questions.old
            SELECT over.tenant_id, over.id, over.job_id
            FROM tenants t
            CROSS JOIN LATERAL (
                SELECT o.tenant_id, o.id, o.job_id
                FROM questions o
                WHERE o.tenant_id = t.id AND o.state <> 'open' AND o.ended_at < now() - \(age)
                ORDER BY o.ended_at
                LIMIT \(limit)
            ) AS over
            """
        ).map {
            (
                tenant: try $0.decode(Tenant.ID.self, at: 0), id: try $0.decode(Question.ID.self, at: 1),
                job: try $0.decode(Job.ID.self, at: 2)
            )
        }
        guard !old.isEmpty else { return 0 }
        let kept: Set<Job.ID> = try await client.find(
            "jobs.known", "id", in: "jobs", by: "id", of: old.map(\.job), of: Set(old.map(\.tenant)))
        let gone = old.filter { !kept.contains($0.job) }
        return try await delete(
            """
            -- expired.questions
            DELETE FROM questions a
            USING unnest(\(gone.map(\.tenant)), \(gone.map(\.id))) AS gone (tenant_id, id)
            WHERE a.tenant_id = gone.tenant_id AND a.id = gone.id
            RETURNING 1
            """)
    }

    /// Takes away what stops flows for jobs that have not failed any more, where results are on other servers.
    ///
    /// Pages go on behind each other: however many stay, those behind them are looked at.
    private func removeFlowBlocksOnShards() async throws -> Int {
        var removed = 0
        var behind: Query = ""
        while removed < limit {
            let blocks = try await client.query(
                """
                -- flowBlocks.all
                SELECT o.tenant_id, o.flow, o.job_id
                FROM flow_blocks o
                WHERE NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = o.tenant_id AND q.job_id = o.job_id) \(behind)
                ORDER BY o.tenant_id, o.flow, o.job_id
                LIMIT \(limit)
                """
            ).map {
                (
                    tenant: try $0.decode(Tenant.ID.self, at: 0), flow: try $0.decode(String.self, at: 1),
                    job: try $0.decode(Job.ID.self, at: 2)
                )
            }
            guard let last = blocks.last else { break }
            behind = "AND (o.tenant_id, o.flow, o.job_id) > (\(last.tenant), \(last.flow), \(last.job))"
            let failed: Set<Job.ID> = try await client.find(
                "results.failed", "job_id", in: "results", of: blocks.map(\.job), of: Set(blocks.map(\.tenant)),
                "AND state = 'failed'")
            let over = blocks.filter { !failed.contains($0.job) }
            removed += try await delete(
                """
                -- expired.flowBlocks
                DELETE FROM flow_blocks b
                USING unnest(
                    \(over.map(\.tenant)), \(over.map(\.flow)), \(over.map(\.job))
                ) AS over (tenant_id, flow, job_id)
                WHERE b.tenant_id = over.tenant_id AND b.flow = over.flow AND b.job_id = over.job_id
                    AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = b.tenant_id AND q.job_id = b.job_id)
                RETURNING 1
                """)
        }
        return removed
    }

    /// Removes remembered answers that have ended; no node uses them, so none has to hear of it.
    private var rememberedAnswers: Query {
        """
        -- expired.rememberedAnswers
        DELETE FROM remembered_answers a
        USING (
            SELECT tenant_id, session_id, question_id
            FROM remembered_answers
            WHERE expires_at < now()
            ORDER BY expires_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE a.tenant_id = old.tenant_id AND a.session_id = old.session_id AND a.question_id = old.question_id
        RETURNING 1
        """
    }

    private var signIns: Query {
        """
        -- expired.signIns
        WITH link AS (
            DELETE FROM dashboard_links WHERE expires_at < now()
        )
        DELETE FROM dashboard_sign_ins s
        USING (
            SELECT tenant_id, id
            FROM dashboard_sign_ins
            WHERE expires_at < now()
            ORDER BY expires_at
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE s.tenant_id = old.tenant_id AND s.id = old.id
        RETURNING 1
        """
    }

    private var cacheTurns: Query {
        "-- expired.cacheTurns\nDELETE FROM cache_turns WHERE expires_at < now() - interval '1 minute' RETURNING 1"
    }
}

/// Layers that nothing lies on.
///
/// One goes when it was found unused twice: a session that is being made from a snapshot may not be there yet when the
/// snapshot is gone already.
private final class UnusedLayers: Sendable {
    private struct Layer: Hashable {
        let tenant: Tenant.ID
        let id: TenantSession.ID
    }

    private let candidates = Mutex<Set<Layer>>([])

    func remove(with client: Client) async throws -> Int {
        let unused = try await unused(client)
        let again = candidates.withLock { candidates in
            defer { candidates = unused }
            return candidates.intersection(unused)
        }
        guard !again.isEmpty else { return 0 }
        let layers = Array(again)
        let rows = try await client.query(
            """
            -- expired.layers
            WITH layer AS MATERIALIZED (
                SELECT * FROM unnest(\(layers.map(\.tenant)), \(layers.map(\.id))) AS layer (tenant_id, layer_id)
            ), cookie AS (
                DELETE FROM cookies c USING layer l WHERE c.tenant_id = l.tenant_id AND c.layer_id = l.layer_id
                RETURNING 1
            ), credential AS (
                DELETE FROM credentials c USING layer l WHERE c.tenant_id = l.tenant_id AND c.layer_id = l.layer_id
                RETURNING 1
            )
            SELECT FROM cookie UNION ALL SELECT FROM credential
            """
        )
        candidates.withLock { $0.subtract(again) }
        return rows.count
    }

    /// Steps from layer to layer, and not from row to row.
    private func unused(_ client: Client) async throws -> Set<Layer> {
        let rows = try await client.query(
            """
            -- expired.findLayers
            WITH RECURSIVE cookie AS (
                (SELECT tenant_id, layer_id FROM cookies ORDER BY tenant_id, layer_id LIMIT 1)
                UNION ALL
                SELECT next.tenant_id, next.layer_id
                FROM cookie c
                CROSS JOIN LATERAL (
                    SELECT n.tenant_id, n.layer_id
                    FROM cookies n
                    WHERE (n.tenant_id, n.layer_id) > (c.tenant_id, c.layer_id)
                    ORDER BY n.tenant_id, n.layer_id
                    LIMIT 1
                ) AS next
            ), credential AS (
                (SELECT tenant_id, layer_id FROM credentials ORDER BY tenant_id, layer_id LIMIT 1)
                UNION ALL
                SELECT next.tenant_id, next.layer_id
                FROM credential c
                CROSS JOIN LATERAL (
                    SELECT n.tenant_id, n.layer_id
                    FROM credentials n
                    WHERE (n.tenant_id, n.layer_id) > (c.tenant_id, c.layer_id)
                    ORDER BY n.tenant_id, n.layer_id
                    LIMIT 1
                ) AS next
            )
            SELECT tenant_id, layer_id FROM cookie
            UNION
            SELECT tenant_id, layer_id FROM credential
            EXCEPT
            -- A session that has written credentials alone has its layer and no stores.
            SELECT tenant_id, id FROM sessions
            EXCEPT
            SELECT id, \(TenantSession.ID.default) FROM tenants
            EXCEPT
            SELECT tenant_id, unnest(layer_ids) FROM session_stores
            EXCEPT
            SELECT tenant_id, unnest(layer_ids) FROM session_snapshots
            """
        )
        return Set(try rows.map { Layer(tenant: try $0.decode(at: 0), id: try $0.decode(at: 1)) })
    }
}
