import FetchEngine
package import FetchJobs
package import FetchRuntime
package import Postgres

/// The work queue in PostgreSQL, as one node sees it.
///
/// An object, since every job has it, and its parts are many.
package final class PostgresWorkQueue: WorkQueue {
    let client: Client
    let genericPlan: Client
    let keys: TenantKeys
    let presence: NodePresence
    var node: Node.ID { presence.id }
    let lease: Duration
    let maximumCrashes: Int16
    private let settling: Batcher<Settlement, Bool>
    private let beginning: Batcher<ClaimedJob, Bool>
    private let retrying: Batcher<Retry, Bool>
    let waiters: CompletionWaiters
    let scan = ClaimScan()
    let known: KnownLimiters
    let tenantLimits: KnownTenantLimits?
    let protocols: KnownProtocols?
    let rules: KnownServiceRules?
    let egress: KnownEgress?
    let peers: Peers
    let orphans = OrphanLook()
    let specs: StoredSpecs
    let awaySpecs = AwaySpecs()

    /// An object, for a statement takes it apart field by field.
    final class Settlement: Sendable {
        let job: ClaimedJob
        let outcome: JobOutcome
        /// Of a body that is stored with its size and its digest.
        let measured: Job.BodySummary?
        let callbacks: [Callback]

        init(_ job: ClaimedJob, _ outcome: JobOutcome, _ callbacks: [Callback]) {
            self.job = job
            self.outcome = outcome
            self.callbacks = callbacks
            measured = outcome.body.flatMap { $0.isShort ? nil : Job.BodySummary($0) }
        }
    }

    /// - Parameters:
    ///   - genericPlan: The connections for the statements that run for every job.
    ///   - keys: The keys that seal the credentials of jobs.
    ///   - presence: This process, and how others reach it.
    ///   - lease: How long a node keeps its jobs without a sign of life (REL-2).
    ///   - maximumCrashes: How many nodes a job may take down when no other job can be the cause (REL-5).
    ///   - limiters: The limiters as this node knows them.
    ///   - tenantLimits: Are told when they may have been changed.
    ///   - protocols: Are told the same.
    ///   - rules: Are told the same.
    ///   - egress: Is told the same.
    ///   - peers: Is told whether there are other nodes.
    ///   - specs: Has the specs of jobs that this node has stored.
    ///   - waiters: Get every job that has reached its final state here.
    package init(
        client: Client,
        genericPlan: Client,
        keys: TenantKeys,
        presence: NodePresence,
        lease: Duration = .seconds(15),
        maximumCrashes: Int = 3,
        limiters: KnownLimiters,
        tenantLimits: KnownTenantLimits? = nil,
        protocols: KnownProtocols? = nil,
        rules: KnownServiceRules? = nil,
        egress: KnownEgress? = nil,
        peers: Peers = Peers(),
        specs: StoredSpecs = StoredSpecs(),
        waiters: CompletionWaiters
    ) {
        known = limiters
        self.tenantLimits = tenantLimits
        self.protocols = protocols
        self.rules = rules
        self.egress = egress
        self.peers = peers
        self.specs = specs
        self.client = client
        self.genericPlan = genericPlan
        self.keys = keys
        self.presence = presence
        let node = presence.id
        self.lease = lease
        self.maximumCrashes = Int16(clamping: max(1, maximumCrashes))
        self.waiters = waiters
        settling = Batcher(maximumItems: 500, interval: .milliseconds(10), many: 8) { settlements in
            let settled = try await Self.settle(settlements, client: genericPlan, node: node)
            #if DEBUG
                CrashPoint.settleCommitted.pass()
            #endif
            waiters.finish(settled.keys.map(\.id)) { id in
                let last = settlements.first { $0.job.id == id && settled[$0.job.key] == false }
                return last.flatMap { Job($0.job, ending: $0.outcome) }
            }
            return settlements.map { settled[$0.job.key] != nil }
        }
        beginning = Batcher(maximumItems: 500) { try await Self.begin($0, client: genericPlan, node: node) }
        retrying = Batcher(maximumItems: 500) { try await Self.retry($0, client: client, node: node) }
    }

    package nonisolated(nonsending) func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        try await StoreError.wrap { try await beginning.submit([job]).first ?? false }
    }

    package nonisolated(nonsending) func settle(
        _ job: ClaimedJob, _ outcome: JobOutcome
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let callbacks = try await callbacks(of: job, outcome)
            return try await settling.submit([Settlement(job, outcome, callbacks)]).first ?? false
        }
    }

    package nonisolated(nonsending) func retry(
        _ job: ClaimedJob,
        _ outcome: JobOutcome,
        after wait: Duration
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let callbacks = try await callbacks(of: job, outcome)
            let retry = Retry(job: job, outcome: outcome, wait: wait, callbacks: callbacks)
            return try await retrying.submit([retry]).first ?? false
        }
    }

    @discardableResult
    package func release(_ jobs: [ClaimedJob]) async throws(StoreError) -> Set<Job.ID> {
        guard !jobs.isEmpty else { return [] }
        let jobs = jobs.sorted { $0.comes(before: $1) }
        return try await StoreError.wrap {
            try await release(jobs.map(\.tenant), jobs.map(\.id), jobs.map(\.claim))
        }
    }

    /// Gives jobs back under these claims.
    func release(_ jobs: [(tenant: Tenant.ID, id: Job.ID, claim: Int32)]) async throws -> Set<Job.ID> {
        guard !jobs.isEmpty else { return [] }
        let held = jobs.sorted {
            ($0.tenant.rawValue, $0.id.uuid.high, $0.id.uuid.low) < (
                $1.tenant.rawValue, $1.id.uuid.high, $1.id.uuid.low
            )
        }
        return try await release(held.map(\.tenant), held.map(\.id), held.map(\.claim))
    }

    /// - Parameters: The jobs, in the order in which rows are locked.
    private func release(_ tenants: [Tenant.ID], _ ids: [Job.ID], _ claims: [Int32]) async throws -> Set<Job.ID> {
        let rows = try await client.end(
            """
            -- queue.release
            WITH held AS MATERIALIZED (
                SELECT q.tenant_id, q.job_id, q.begun, q.cancelling
                FROM unnest(\(tenants), \(ids), \(claims)) AS input (tenant_id, job_id, claim)
                JOIN queue q ON q.tenant_id = input.tenant_id AND q.job_id = input.job_id AND q.claim = input.claim
                    AND q.node_id = \(node)
                -- In one order, so that no two statements wait for each other; and before anything is decided, for a
                -- client may cancel a job just now.
                ORDER BY q.tenant_id, q.job_id
                FOR UPDATE OF q
            ), released AS (
                UPDATE queue q
                SET \(Query.leaving)
                FROM held h
                WHERE q.tenant_id = h.tenant_id AND q.job_id = h.job_id AND NOT h.begun AND NOT h.cancelling
                RETURNING q.tenant_id, q.job_id, q.question_id
            ), asking AS (
                UPDATE questions a
                SET ask_at = now()
                FROM released r
                WHERE a.tenant_id = r.tenant_id AND a.id = r.question_id AND a.endpoint_id IS NOT NULL
            ), ended AS (
                -- Its client was told that it does not run on.
                DELETE FROM queue q
                USING held h
                WHERE q.tenant_id = h.tenant_id AND q.job_id = h.job_id AND h.cancelling
                RETURNING q.tenant_id, q.job_id, 'cancelled' AS state, q.claimed_at AS started_at,
                    'cancelled' AS error_name, \(RawJSON.cancelled) AS error, q.endpoint_id, q.session_id,
                    uuidv7() AS delivery_id, q.flow
            ), \(Query.ending(at: node, isSharded: client.isSharded))
            SELECT job_id, false\(Query.noEndedColumns(client.isSharded)) FROM released
            UNION ALL
            SELECT job_id, true\(Query.endedColumns(client.isSharded)) FROM ended
            """, at: 2, isSharded: client.isSharded)
        let jobs = try rows.map { (id: try $0.decode(Job.ID.self, at: 0), hasEnded: try $0.decode(Bool.self, at: 1)) }
        waiters.finish(jobs.filter(\.hasEnded).map(\.id))
        return Set(jobs.map(\.id))
    }

    private static func begin(_ jobs: [ClaimedJob], client: Client, node: Node.ID) async throws -> [Bool] {
        let ordered = jobs.sorted { $0.comes(before: $1) }
        let rows = try await client.query(
            """
            -- queue.begin
            WITH held AS MATERIALIZED (
                SELECT held.row_id, input.*
                FROM unnest(\(ordered.map(\.tenant)), \(ordered.map(\.id)), \(ordered.map(\.claim)))
                    AS input (tenant_id, job_id, claim)
                \(Query.held(at: node))
            ), begun AS (
                UPDATE queue q
                SET begun = true
                WHERE q.ctid = ANY (ARRAY(SELECT row_id FROM held))
                RETURNING q.tenant_id, q.job_id
            ), moved AS (
                UPDATE queue q
                SET begun = true
                WHERE \(Query.hasMoved(from: "held", past: "begun"))
            )
            SELECT job_id, claim FROM held
            """
        )
        let begun = Set(try rows.map(ClaimKey.init))
        return jobs.map { begun.contains($0.key) }
    }
}

/// The claim of a job: a node that was taken for lost may try to go on with one while it has the next.
struct ClaimKey: Hashable {
    let id: Job.ID
    let claim: Int32

    init(id: Job.ID, claim: Int32) {
        self.id = id
        self.claim = claim
    }

    /// - Parameter row: Begins with the job and the number of the claim.
    init(_ row: Row) throws {
        self.init(id: try row.decode(at: 0), claim: try row.decode(at: 1))
    }
}

extension ClaimedJob {
    var key: ClaimKey { ClaimKey(id: id, claim: claim) }

    /// In which order statements lock the rows of many jobs, so that none of two waits for the other.
    func comes(before other: ClaimedJob) -> Bool {
        (tenant.rawValue, id.uuid.high, id.uuid.low) < (other.tenant.rawValue, other.id.uuid.high, other.id.uuid.low)
    }
}

extension Query {
    /// Joins `input`, which has the columns `tenant_id`, `job_id` and `claim`, with the rows that a node still holds
    /// under those claims, as `held`; locks them.
    ///
    /// Each by its key: left to choose, the planner may read all that runs anywhere.
    ///
    /// A row that was changed since the statement began is locked at its new place, `row_id`, where the same statement
    /// does not see it. A statement that changes rows by their places therefore also changes those that have moved:
    /// ``hasMoved(from:past:)``.
    static func held(at node: Node.ID) -> Query {
        """
        CROSS JOIN LATERAL (
            SELECT q.ctid AS row_id, q.endpoint_id, q.session_id, q.flow, q.in_flow, q.is_changed
            FROM queue q
            WHERE q.tenant_id = input.tenant_id AND q.job_id = input.job_id AND q.claim = input.claim
                AND q.node_id = \(node)
            FOR UPDATE
        ) AS held
        """
    }

    /// Whether a row of the queue is one of those locked that were not found at their places: by its key, which leads
    /// from where the statement sees the row to where it is.
    ///
    /// By arrays of the few keys there are, for nothing else keeps the planner from reading all that waits; and looked
    /// for only when fewer were found than were locked.
    ///
    /// - Parameters:
    ///   - locked: A `WITH` part that has the columns `tenant_id` and `job_id`.
    ///   - found: One with the same columns, of those that were found.
    static func hasMoved(from locked: Query, past found: Query) -> Query {
        let missing: Query = """
            FROM \(locked) l
            WHERE NOT EXISTS (SELECT FROM \(found) f WHERE f.tenant_id = l.tenant_id AND f.job_id = l.job_id)
            """
        return """
            (SELECT count(*) FROM \(found)) < (SELECT count(*) FROM \(locked))
                AND q.tenant_id = ANY (ARRAY(SELECT l.tenant_id \(missing)))
                AND q.job_id = ANY (ARRAY(SELECT l.job_id \(missing)))
            """
    }
}
