package import FetchJobs
import Postgres
import Synchronization

extension PostgresWorkQueue {
    package func claim(upTo limit: Int) async throws(StoreError) -> Claim {
        guard !known.isPaused else { return Claim(jobs: [], isLast: true) }
        return try await StoreError.wrap {
            var jobs: [ClaimedJob] = []
            var gated: Set<Lane.Address> = []
            var walk = walk.begin(without: known.pausedTenants)
            repeat {
                let rows = try await claim(walk.next(limit - jobs.count))
                let (readable, unreadable) = try await read(rows)
                jobs += readable
                try await end(unreadable)
                for row in rows { if let lane = try Lane.Address(gateOf: row) { gated.insert(lane) } }
                try walk.took(rows)
                // What was found does not wait until all others have been put where they belong.
            } while jobs.count < limit && !walk.isOver && (gated.isEmpty || jobs.isEmpty)
            self.walk.end(walk)
            return Claim(jobs: jobs, isLast: walk.isOver && jobs.count < limit, gated: gated)
        }
    }

    /// Claims what each share allows, and looks for tenants that are not known to wait.
    ///
    /// When none is known, the first that is found has the whole claim.
    private func claim(_ step: ClaimWalk.Step) async throws -> Rows {
        try await plannedOnce.query(
            """
            -- queue.claim
            WITH RECURSIVE found AS (
                SELECT next.tenant_id, gap.before
                FROM unnest(\(step.gaps.map(\.after)), \(step.gaps.map(\.before))) AS gap (after, before)
                CROSS JOIN LATERAL (\(Query.waitingTenant("gap.after", "gap.before"))) AS next
                UNION ALL
                SELECT next.tenant_id, found.before
                FROM found
                CROSS JOIN LATERAL (\(Query.waitingTenant("found.tenant_id", "found.before"))) AS next
            ), others AS MATERIALIZED (
                SELECT tenant_id FROM found LIMIT 100
            ), share AS MATERIALIZED (
                SELECT *
                FROM unnest(
                    \(step.shares.map(\.tenant)),
                    \(step.shares.map { Int64($0.count) }),
                    \(step.shares.map(\.position.rank)),
                    \(step.shares.map(\.position.runAt)),
                    \(step.shares.map(\.position.job))
                ) AS share (tenant_id, count, rank, run_at, job_id)
                UNION ALL
                (
                    SELECT tenant_id, \(Int64(step.limit)), \(ClaimTurns.Position.head.rank),
                        \(ClaimTurns.Position.head.runAt), \(ClaimTurns.Position.head.job)
                    FROM others
                    WHERE \(step.shares.isEmpty) AND tenant_id <> ALL (\(Array(step.paused)))
                    ORDER BY tenant_id
                    LIMIT 1
                )
            ), due AS MATERIALIZED (
                SELECT next.*
                FROM share
                CROSS JOIN LATERAL (
                    SELECT q.ctid AS row_id, q.tenant_id, q.job_id, q.flow, q.in_flow, q.in_host
                    FROM queue q
                    WHERE q.tenant_id = share.tenant_id
                        AND q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL
                        AND (q.expires_at IS NULL OR q.expires_at > now())
                        AND (q.rank, q.run_at, q.job_id) > (share.rank, share.run_at, share.job_id)
                    ORDER BY q.rank, q.run_at, q.job_id
                    LIMIT share.count
                    FOR UPDATE SKIP LOCKED
                ) AS next
            ), \(known.exist ? Query.claimingUnlessGated(at: node) : Query.claiming(at: node))
            SELECT c.job_id, c.tenant_id, j.spec, c.claim, c.rank, c.run_at,
                coalesce(s.cookies_version, 0), coalesce(t.credentials_version, 0), j.sealed_secrets,
                c.tries, c.expires_at, coalesce(s.cache_version, 0),
                (SELECT o.weight FROM tenants o WHERE o.id = c.tenant_id), other.tenant_ids,
                c.gate, CASE c.gate WHEN 'flow' THEN c.flow WHEN 'host' THEN c.host END
            FROM (SELECT ARRAY(SELECT tenant_id FROM others) AS tenant_ids) AS other
            LEFT JOIN (
                claimed c
                -- Each by its key: left to choose, the planner reads all jobs of the tenant for every one of them.
                CROSS JOIN LATERAL (
                    SELECT j.spec, j.sealed_secrets
                    FROM jobs j
                    WHERE j.tenant_id = c.tenant_id AND j.id = c.job_id
                    OFFSET 0
                ) AS j
            ) ON true
            LEFT JOIN LATERAL (
                SELECT t.credentials_version
                FROM session_stores t
                WHERE t.tenant_id = c.tenant_id AND t.session_id = \(TenantSession.ID.default)
                OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL (
                SELECT s.cookies_version, s.cache_version
                FROM session_stores s
                WHERE s.tenant_id = c.tenant_id
                    AND s.session_id = coalesce(c.session_id, \(TenantSession.ID.default))
                OFFSET 0
            ) AS s ON true
            ORDER BY c.rank, c.run_at, c.job_id
            """
        )
    }
}

extension Query {
    /// The first tenant between two that has a job to be claimed.
    ///
    /// By the whole key, so that no other index can look better than the one of jobs that wait.
    fileprivate static func waitingTenant(_ after: Query, _ before: Query) -> Query {
        """
        SELECT q.tenant_id
        FROM queue q
        WHERE q.node_id IS NULL AND NOT q.scheduled AND NOT q.suspended AND q.gate IS NULL
            AND (q.expires_at IS NULL OR q.expires_at > now())
            AND q.tenant_id > \(after) AND q.tenant_id < \(before)
        ORDER BY q.tenant_id, q.rank, q.run_at, q.job_id
        LIMIT 1
        """
    }

    /// The lane of a kind, quoted, that a due job is in.
    fileprivate static func lane(_ kind: Query, _ key: Query) -> Query {
        """
        SELECT l.paused, l.is_limited, l.parked_until
        FROM lanes l
        WHERE l.tenant_id = due.tenant_id AND l.kind = \(kind) AND l.key = \(key)
        OFFSET 0
        """
    }

    /// Claims what is due.
    fileprivate static func claiming(at node: Node.ID) -> Query {
        """
        claimed AS (
            UPDATE queue q
            SET node_id = \(node), claim = q.claim + 1, claimed_at = now()
            -- By their places, which are locked: nobody can tell the planner how few they are, and joined with them
            -- it would read all that waits.
            WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM due))
            RETURNING q.tenant_id, q.job_id, q.claim, q.rank, q.run_at, q.session_id, q.tries, q.expires_at, q.gate,
                q.flow, q.host
        )
        """
    }

    /// Claims what is due, but for jobs that a lane has to let through: those go to its gate.
    fileprivate static func claimingUnlessGated(at node: Node.ID) -> Query {
        """
        judged AS MATERIALIZED (
            SELECT due.tenant_id, due.job_id, j.host,
                CASE
                    WHEN flow.paused OR flow.is_limited AND NOT due.in_flow THEN 'flow'
                    WHEN host.paused OR host.parked_until > now()
                        OR (host.is_limited OR host.parked_until IS NOT NULL) AND NOT due.in_host THEN 'host'
                END AS gate
            FROM due
            CROSS JOIN LATERAL (
                SELECT j.host FROM jobs j WHERE j.tenant_id = due.tenant_id AND j.id = due.job_id OFFSET 0
            ) AS j
            LEFT JOIN LATERAL (\(lane("'flow'", "due.flow"))) AS flow ON true
            LEFT JOIN LATERAL (\(lane("'host'", "j.host"))) AS host ON true
        ), claimed AS (
            UPDATE queue q
            SET node_id = CASE WHEN judged.gate IS NULL THEN \(node) END,
                claim = CASE WHEN judged.gate IS NULL THEN q.claim + 1 ELSE q.claim END,
                claimed_at = CASE WHEN judged.gate IS NULL THEN now() END,
                gate = judged.gate,
                host = CASE WHEN judged.gate = 'host' THEN judged.host ELSE q.host END,
                in_flow = q.in_flow AND judged.gate IS DISTINCT FROM 'flow',
                in_host = q.in_host AND judged.gate IS DISTINCT FROM 'host'
            FROM judged
            WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM due))
                AND q.tenant_id = judged.tenant_id AND q.job_id = judged.job_id
            RETURNING q.tenant_id, q.job_id, q.claim, q.rank, q.run_at, q.session_id, q.tries, q.expires_at, q.gate,
                q.flow, q.host
        )
        """
    }
}

extension Lane.Address {
    /// Where the job of a row has to wait; nil when it was claimed.
    init?(gateOf row: Row) throws {
        guard let kind = try row.decode(Lane.Kind?.self, at: 14) else { return nil }
        self.init(tenant: try row.decode(at: 1), kind: kind, key: try row.decode(at: 15))
    }
}

/// Where in the queue this node's next claim begins.
///
/// Going on behind the last job taken spares the index entries of jobs already gone, which the database keeps for as
/// long as any old snapshot is open: starting at the head each time makes claims slower and slower. A full walk from
/// the head every second, and after a claim that found less than it wanted, takes what was put in before.
final class ClaimWalk: Sendable {
    /// What one statement claims.
    struct Step {
        let limit: Int
        let shares: [ClaimTurns.Share]
        let gaps: [ClaimTurns.Gap]
        let paused: Set<Tenant.ID>
    }

    /// One claim, of one statement or more.
    struct Round {
        private(set) var turns: ClaimTurns
        private let paused: Set<Tenant.ID>
        private var step: Step
        /// What others hold for now is not looked at twice.
        private var dry: Set<Tenant.ID> = []

        /// Nothing waits any more.
        var isOver: Bool { turns.isEmpty }

        init(_ turns: ClaimTurns, without paused: Set<Tenant.ID>) {
            self.turns = turns
            self.turns.remove(paused)
            self.paused = paused
            step = Step(limit: 0, shares: [], gaps: [], paused: paused)
        }

        mutating func next(_ limit: Int) -> Step {
            let shares = turns.next(limit)
            step = Step(limit: limit, shares: shares, gaps: turns.gaps(behind: shares), paused: paused)
            return step
        }

        mutating func took(_ rows: Rows) throws {
            var taken: [Tenant.ID: ClaimTurns.Taken] = [:]
            for row in rows {
                guard let job = try row.decode(Job.ID?.self, at: 0) else { continue }
                let position = ClaimTurns.Position(
                    rank: try row.decode(at: 4), runAt: try row.decode(at: 5), job: job)
                taken[try row.decode(at: 1), default: .init()].add(position, weight: try row.decode(at: 12))
            }
            var others = try rows.first?.decode([Tenant.ID].self, at: 13) ?? []
            others.removeAll { paused.contains($0) }
            turns.add(others.filter { !dry.contains($0) })
            var shares = step.shares
            if shares.isEmpty, let first = others.min(by: { $0.rawValue < $1.rawValue }) {
                shares = [ClaimTurns.Share(tenant: first, count: step.limit, position: .head)]
            }
            turns.took(taken, of: shares)
            for share in shares where !turns.contains(share.tenant) { dry.insert(share.tenant) }
        }
    }

    private struct State {
        var turns = ClaimTurns()
        var restartAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    func begin(without paused: Set<Tenant.ID>) -> Round {
        state.withLock { state in
            let now = ContinuousClock.now
            if now >= state.restartAt {
                state.turns.restart()
                state.restartAt = now + .seconds(1)
            }
            return Round(state.turns, without: paused)
        }
    }

    func end(_ round: Round) { state.withLock { $0.turns = round.turns } }
}

extension ClaimTurns.Taken {
    fileprivate mutating func add(_ position: ClaimTurns.Position, weight: Int16) {
        count += 1
        self.weight = Int(weight)
        last = position
    }
}
