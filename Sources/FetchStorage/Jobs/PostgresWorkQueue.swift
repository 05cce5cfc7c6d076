package import FetchJobs
package import Postgres
import Synchronization

/// The work queue in PostgreSQL, as one node sees it.
package struct PostgresWorkQueue: WorkQueue {
    let client: Client
    private let keys: TenantKeys
    let presence: NodePresence
    var node: Node.ID { presence.id }
    let lease: Duration
    private let settling: Batcher<Settlement, Bool>
    private let beginning: Batcher<ClaimedJob, Bool>
    private let retrying: Batcher<Retry, Bool>
    let finished: FinishedJobs
    private let walk = ClaimWalk()
    let neighbours: Neighbours

    struct Settlement: Sendable {
        let job: ClaimedJob
        let outcome: JobOutcome
    }

    /// - Parameters:
    ///   - keys: What credentials that come with jobs are sealed with.
    ///   - presence: This process, and how others reach it.
    ///   - lease: How long a node keeps its jobs without a sign of life (REL-2).
    ///   - neighbours: Hears whether there are other nodes.
    ///   - finished: Hears of every job that has reached its final state here.
    package init(
        client: Client,
        keys: TenantKeys,
        presence: NodePresence,
        lease: Duration = .seconds(15),
        neighbours: Neighbours = Neighbours(),
        finished: FinishedJobs
    ) {
        self.neighbours = neighbours
        self.client = client
        self.keys = keys
        self.presence = presence
        let node = presence.id
        self.lease = lease
        self.finished = finished
        settling = Batcher(maximumItems: 500) { settlements in
            let settled = try await Self.settle(settlements, client: client, node: node)
            finished.finish(settled)
            return settlements.map { settled.contains($0.job.id) }
        }
        beginning = Batcher(maximumItems: 500) { try await Self.begin($0, client: client, node: node) }
        retrying = Batcher(maximumItems: 500) { try await Self.retry($0, client: client, node: node) }
    }

    package func claim(limit: Int) async throws(StoreError) -> [ClaimedJob] {
        try await StoreError.wrap {
            let start = walk.position()
            let rows = try await client.query(
                """
                -- queue.claim
                WITH due AS MATERIALIZED (
                    SELECT tenant_id, job_id, rank, run_at
                    FROM queue
                    WHERE node_id IS NULL AND NOT scheduled AND NOT suspended
                        AND (expires_at IS NULL OR expires_at > now())
                        AND (rank, run_at, job_id) > (\(start.rank), \(start.runAt), \(start.job))
                    ORDER BY rank, run_at, job_id
                    LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                ), claimed AS (
                    UPDATE queue q
                    SET node_id = \(node), claim = q.claim + 1, claimed_at = now()
                    FROM due
                    WHERE q.tenant_id = due.tenant_id AND q.job_id = due.job_id
                    RETURNING q.tenant_id, q.job_id, q.claim, q.rank, q.run_at, q.session_id, q.tries, q.expires_at
                )
                SELECT c.job_id, c.tenant_id, j.spec, c.claim, c.rank, c.run_at,
                    coalesce(s.cookies_version, 0), coalesce(t.credentials_version, 0), j.sealed_secrets,
                    c.tries, c.expires_at, coalesce(s.cache_version, 0)
                FROM claimed c
                JOIN jobs j ON j.tenant_id = c.tenant_id AND j.id = c.job_id
                LEFT JOIN session_stores t ON t.tenant_id = c.tenant_id AND t.session_id = \(TenantSession.ID.default)
                LEFT JOIN session_stores s
                    ON s.tenant_id = c.tenant_id AND s.session_id = coalesce(c.session_id, \(TenantSession.ID.default))
                ORDER BY c.rank, c.run_at, c.job_id
                """
            )
            try walk.took(rows, limit: limit)
            var jobs: [ClaimedJob] = []
            for row in rows { jobs.append(try await ClaimedJob(row: row, keys: keys)) }
            return jobs
        }
    }

    package func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        try await StoreError.wrap { try await beginning.submit([job]).first ?? false }
    }

    package func settle(_ job: ClaimedJob, _ outcome: JobOutcome) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await settling.submit([Settlement(job: job, outcome: outcome)]).first ?? false
        }
    }

    package func retry(
        _ job: ClaimedJob,
        _ outcome: JobOutcome,
        after wait: Duration
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await retrying.submit([Retry(job: job, outcome: outcome, wait: wait)]).first ?? false
        }
    }

    package func release(_ jobs: [ClaimedJob]) async throws(StoreError) {
        guard !jobs.isEmpty else { return }
        try await StoreError.wrap {
            try await client.query(
                """
                -- queue.release
                UPDATE queue q
                SET node_id = NULL, claimed_at = NULL, cancelling = false, keeps_partial = false
                FROM unnest(\(jobs.map(\.tenant)), \(jobs.map(\.id)), \(jobs.map(\.claim)))
                    AS held (tenant_id, job_id, claim)
                WHERE q.tenant_id = held.tenant_id AND q.job_id = held.job_id AND q.claim = held.claim
                    AND q.node_id = \(node) AND NOT q.begun
                """
            )
        }
    }

    private static func begin(_ jobs: [ClaimedJob], client: Client, node: Node.ID) async throws -> [Bool] {
        let rows = try await client.query(
            """
            -- queue.begin
            UPDATE queue q
            SET begun = true
            FROM unnest(\(jobs.map(\.tenant)), \(jobs.map(\.id)), \(jobs.map(\.claim)))
                AS held (tenant_id, job_id, claim)
            WHERE q.tenant_id = held.tenant_id AND q.job_id = held.job_id AND q.claim = held.claim
                AND q.node_id = \(node)
            RETURNING q.job_id
            """
        )
        let begun = Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        return jobs.map { begun.contains($0.id) }
    }
}

extension ClaimedJob {
    fileprivate init(row: Row, keys: TenantKeys) async throws {
        let (id, tenant) = (try row.decode(Job.ID.self, at: 0), try row.decode(Tenant.ID.self, at: 1))
        // What is stored was checked by the same reader when it came in.
        var spec = try JobSpec(stored: try JSONParser.parse(try row.decode(RawJSON.self, at: 2).bytes))
        if let secrets = try row.decode([UInt8]?.self, at: 8) {
            try await spec.open(secrets, of: id, tenant: tenant, keys: keys)
        }
        self.init(
            id: id,
            tenant: tenant,
            spec: spec,
            claim: try row.decode(at: 3),
            tries: Int(try row.decode(Int16.self, at: 9)),
            expiresAt: try row.decode(at: 10),
            stores: StoresVersion(
                cookies: try row.decode(at: 6), credentials: try row.decode(at: 7), cache: try row.decode(at: 11))
        )
    }
}

/// Where in the queue this node's next claim begins.
///
/// Going on behind the last job taken spares the index entries of jobs already gone, which the database keeps for as
/// long as any old snapshot is open: starting at the head each time makes claims slower and slower. A full walk from
/// the head every second, and after a claim that found less than it wanted, takes what was put in before.
private final class ClaimWalk: Sendable {
    struct Position: Sendable {
        var rank = Int16.min
        var runAt = Timestamp(microseconds: 0)
        var job = Job.ID(UUIDv7(high: 0, low: 0))
    }

    private struct State {
        var position = Position()
        var restartAt = ContinuousClock.now
    }

    private let state = Mutex(State())

    func position() -> Position {
        state.withLock { state in
            let now = ContinuousClock.now
            if now >= state.restartAt { state = State(restartAt: now + .seconds(1)) }
            return state.position
        }
    }

    func took(_ rows: Rows, limit: Int) throws {
        guard rows.count == limit, let last = rows.last else {
            state.withLock { $0.position = Position() }
            return
        }
        let position = Position(
            rank: try last.decode(at: 4),
            runAt: try last.decode(at: 5),
            job: try last.decode(at: 0)
        )
        state.withLock { $0.position = position }
    }
}
