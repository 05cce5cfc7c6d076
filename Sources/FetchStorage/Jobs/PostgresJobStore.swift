package import FetchJobs
package import FetchRuntime
package import Postgres

/// The job store in PostgreSQL.
package struct PostgresJobStore: JobStore {
    /// How many whole jobs one statement returns: a spec alone may have a megabyte.
    package static let maximumJobsAtOnce = 16

    let client: Client
    private let genericPlan: Client
    private let enqueuing: Enqueuing
    let intake: (any Intake)?
    private let waiters: CompletionWaiters
    let announce: @Sendable (Notice) -> Void
    let node: Node.ID
    private let limiters: KnownLimiters
    let keys: TenantKeys

    /// - Parameters:
    ///   - genericPlan: The connections for the statements that run for every job.
    ///   - keys: The keys that seal the secrets of jobs.
    ///   - node: This process.
    ///   - limiters: The limiters as this node knows them.
    ///   - quotas: How many jobs may wait; nil for as many as come.
    ///   - specs: Keeps the specs of jobs that wait for the queue of this node.
    ///   - intake: The worker in this process, when there is one.
    ///   - waiters: Get the jobs that were cancelled before they ran.
    ///   - announce: Tells other nodes.
    package init(
        client: Client,
        genericPlan: Client,
        keys: TenantKeys,
        node: Node.ID,
        limiters: KnownLimiters,
        quotas: TenantQuota? = nil,
        specs: StoredSpecs = StoredSpecs(),
        intake: (any Intake)?,
        waiters: CompletionWaiters,
        announce: @escaping @Sendable (Notice) -> Void
    ) {
        self.client = client
        self.genericPlan = genericPlan
        self.node = node
        self.limiters = limiters
        self.keys = keys
        self.intake = intake
        self.waiters = waiters
        self.announce = announce
        enqueuing = Enqueuing(
            client: client, genericPlan: genericPlan, keys: keys, node: node, limiters: limiters, quotas: quotas,
            specs: specs, intake: intake, announce: announce)
    }

    package func enqueue(_ jobs: [NewJob]) async throws(StoreError) -> [Enqueued] {
        try await StoreError.wrap { try await enqueuing.enqueue(jobs) }
    }

    /// Stores jobs in one statement with a change, if that changes anything; otherwise they are conflicts.
    ///
    /// - Parameter change: A statement that returns a row for each change.
    func enqueue(_ jobs: [NewJob], with change: Query) async throws -> [Enqueued] {
        try await enqueuing.enqueue(jobs, with: change)
    }

    package func job(_ id: Job.ID, of tenant: Tenant.ID) async throws(StoreError) -> Job? {
        try await StoreError.wrap {
            let queue: Query =
                client.isSharded ? "(SELECT * FROM queue WHERE tenant_id = \(tenant) AND job_id = \(id))" : "queue"
            // One look, so that a final job has all of its attempts.
            let rows = try await genericPlan.ofJobs(of: tenant).query(
                """
                -- jobs.find
                SELECT \(Query.wholeJob(queue: queue))
                WHERE j.tenant_id = \(tenant) AND j.id = \(id)
                ORDER BY a.number
                """
            )
            return try rows.isEmpty ? nil : Job(rows: rows[...], id: id, tenant: tenant)
        }
    }

    package func jobs(_ ids: [Tenant.ID: Set<Job.ID>]) async throws(StoreError) -> [Job] {
        let keys = ids.flatMap { tenant, ids in ids.map { (tenant: tenant, id: $0) } }
        return try await StoreError.wrap {
            var jobs: [Job] = []
            for start in stride(from: 0, to: keys.count, by: Self.maximumJobsAtOnce) {
                let part = keys[start..<min(start + Self.maximumJobsAtOnce, keys.count)]
                jobs += try Job.all(in: try await client.isSharded ? rowsByLists(part) : rows(part))
            }
            return jobs
        }
    }

    private typealias Keys = ArraySlice<(tenant: Tenant.ID, id: Job.ID)>

    private func rows(_ keys: Keys) async throws -> Rows {
        try await genericPlan.query(
            """
            -- jobs.findAll
            SELECT found.*, asked.tenant_id, asked.job_id
            FROM unnest(\(keys.map(\.tenant)), \(keys.map(\.id))) AS asked (tenant_id, job_id)
            -- Each by its key: left to choose, the planner may read all jobs of the tenant for every one of them.
            CROSS JOIN LATERAL (
                SELECT \(Query.wholeJob())
                WHERE j.tenant_id = asked.tenant_id AND j.id = asked.job_id
                OFFSET 0
            ) AS found
            ORDER BY asked.tenant_id, asked.job_id, found.number
            """
        )
    }

    /// The same from several servers: by lists, from which it is known which of them have the rows.
    private func rowsByLists(_ keys: Keys) async throws -> Rows {
        let (tenants, ids) = (Array(Set(keys.map(\.tenant))), keys.map(\.id))
        return try await client.query(
            """
            -- jobs.findAll
            SELECT \(Query.jobColumns), j.tenant_id, j.id
            \(Query.tablesOfJob(queue: "(SELECT * FROM queue WHERE tenant_id = ANY (\(tenants)) AND job_id = ANY (\(ids)))"))
            WHERE j.tenant_id = ANY (\(tenants)) AND j.id = ANY (\(ids))
            ORDER BY j.tenant_id, j.id, a.number
            """
        )
    }

    package func cancel(_ ids: [Job.ID], of tenant: Tenant.ID, _ manner: Cancellation) async throws(StoreError) {
        let (running, ended) = try await StoreError.wrap {
            let isSharded = client.isSharded
            let rows = try await client.ofJobs(of: tenant).end(
                """
                -- jobs.cancel
                WITH target AS MATERIALIZED (
                    SELECT q.tenant_id, q.job_id, q.node_id, asked.delivery_id
                    FROM unnest(\(ids), \(ids.map { _ in WebhookDelivery.ID() })) AS asked (job_id, delivery_id)
                    JOIN queue q ON q.tenant_id = \(tenant) AND q.job_id = asked.job_id
                    -- In one order, so that two of these cannot wait for each other.
                    ORDER BY q.job_id
                    FOR UPDATE OF q
                ), ended AS (
                    DELETE FROM queue q
                    USING target t
                    WHERE q.tenant_id = t.tenant_id AND q.job_id = t.job_id AND t.node_id IS NULL
                    RETURNING q.tenant_id, q.job_id, 'cancelled' AS state, NULL::timestamptz AS started_at,
                        'cancelled' AS error_name, \(RawJSON.cancelled) AS error, q.endpoint_id, q.session_id,
                        t.delivery_id, q.flow
                ), told AS (
                    UPDATE queue q
                    -- A row that has moved since the statement began is judged twice, first as it was; no row waits and is
                    -- being cancelled.
                    SET cancelling = q.node_id IS NOT NULL, keeps_partial = \(manner == .keepingPartial)
                    FROM target t
                    WHERE q.tenant_id = t.tenant_id AND q.job_id = t.job_id AND t.node_id IS NOT NULL
                    RETURNING q.job_id
                ), \(Query.ending(at: node, isSharded: client.isSharded)), \(Query.audited(
                    .cancelJobs, ids.count == 1 ? ids.first?.description : nil, of: tenant, details: .ids(ids),
                    when: "target"))
                SELECT job_id, true\(Query.noEndedColumns(isSharded)) FROM told
                UNION ALL
                SELECT job_id, false\(Query.endedColumns(isSharded)) FROM ended
                """, at: 2, isSharded: isSharded)
            let jobs = try rows.map { (id: try $0.decode(Job.ID.self, at: 0), runs: try $0.decode(Bool.self, at: 1)) }
            return (jobs.filter(\.runs).map(\.id), jobs.filter { !$0.runs }.map(\.id))
        }
        for id in running { intake?.cancel(id, manner) }
        if !running.isEmpty { announce(.look) }
        waiters.finish(ended)
        if !ended.isEmpty {
            intake?.wake()
            openGates()
        }
    }

    /// There are jobs for any node to claim.
    func callWorkers() {
        intake?.wake()
        announce(.jobs)
    }

    /// Jobs are gone, or wait, that may have held up others of their limiter.
    func openGates() {
        if limiters.exist { intake?.admit(nil) }
    }

    package func body(of id: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> StoredBody? {
        try await StoreError.wrap {
            let rows = try await client.ofJobs(of: tenant).query(
                """
                -- jobs.body
                SELECT body, blob_id, \(Query.bodyBytes("r")), \(Query.bodyDigest("r")), response, file ->> 'filename'
                FROM results r
                WHERE tenant_id = \(tenant) AND job_id = \(id) AND (body IS NOT NULL OR blob_id IS NOT NULL)
                """
            )
            return try rows.first.map { try StoredBody(row: $0) }
        }
    }
}

extension Query {
    /// The columns of a job and its attempts, and where they come from.
    fileprivate static func wholeJob(queue: Query = "queue") -> Query {
        "\(jobColumns)\n\(tablesOfJob(queue: queue))"
    }

    fileprivate static var jobColumns: Query {
        """
        \(once("j.spec")), j.created_at, \(Query.jobState), q.claimed_at, q.cancelling,
            CASE WHEN q.scheduled AND q.question_id IS NULL THEN q.run_at END, r.started_at, r.finished_at,
            \(once("r.response")), \(once("r.error")), \(once("r.redirects")), \(bodyBytes("r")), \(bodyDigest("r")),
            \(once("r.file")), \(once("r.challenges")),
            a.number, a.started_at, a.finished_at, a.state, a.error_name, a.status, a.next_at, a.transfers, a.decisions,
            q.question_id, r.attempt, r.error_name, r.status, \(once("r.transfers")), \(once("r.decisions"))
        """
    }

    /// A column of a job that may be long: null in its rows but the first, which is that of its first attempt.
    private static func once(_ column: Query) -> Query {
        "CASE WHEN row_number() OVER (PARTITION BY j.tenant_id, j.id ORDER BY a.number) = 1 THEN \(column) END"
    }

    /// - Parameter queue: The table, or its rows that may be of the jobs.
    fileprivate static func tablesOfJob(queue: Query) -> Query {
        """
        FROM jobs j
        LEFT JOIN \(queue) q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
        LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
        LEFT JOIN attempts a ON a.tenant_id = j.tenant_id AND a.job_id = j.id
        """
    }

    /// The state of a job, of its row `q` in the queue and its result `r`: one of them is there, never both.
    static var jobState: Query {
        """
        CASE
            WHEN r.state IS NOT NULL THEN r.state
            WHEN q.suspended THEN 'suspended'
            WHEN q.question_id IS NOT NULL THEN 'awaitingDecision'
            WHEN q.node_id IS NOT NULL THEN 'running'
            WHEN q.scheduled THEN 'scheduled'
            ELSE 'queued'
        END
        """
    }
}

extension Job {
    /// - Parameter rows: Those of each job one after the other, behind its columns its tenant and its id.
    fileprivate static func all(in rows: Rows) throws -> [Job] {
        var (jobs, rest) = ([Job](), rows[...])
        while let first = rest.first {
            let (tenant, id) = (try first.decode(Tenant.ID.self, at: 30), try first.decode(Job.ID.self, at: 31))
            let ofJob = try rest.prefix {
                try $0.decode(Job.ID.self, at: 31) == id && $0.decode(Tenant.ID.self, at: 30) == tenant
            }
            jobs.append(try Job(rows: ofJob, id: id, tenant: tenant))
            rest = rest[ofJob.endIndex...]
        }
        return jobs
    }

    /// - Parameter rows: One for each attempt that another one followed, or a single one without; not empty.
    ///   The first one has the columns of the job.
    fileprivate init(rows: Rows.SubSequence, id: ID, tenant: Tenant.ID) throws {
        let row = rows[rows.startIndex]
        let claimedAt = try row.decode(Timestamp?.self, at: 3)
        self.init(
            id: id,
            tenant: tenant,
            state: try row.decode(at: 2),
            spec: try row.decode(at: 0),
            createdAt: try row.decode(at: 1)
        )
        startedAt = try claimedAt ?? row.decode(Timestamp?.self, at: 6)
        isCancelling = try row.decode(Bool?.self, at: 4) ?? false
        nextAttemptAt = try row.decode(at: 5)
        finishedAt = try row.decode(at: 7)
        response = try row.decode(RawJSON?.self, at: 8).map { StoredResponse(json: $0).named }
        error = try row.decode(at: 9)
        redirects = try row.decode(at: 10)
        if let bytes = try row.decode(Int64?.self, at: 11) {
            body = BodySummary(bytes: bytes, digest: SHA256Digest(bytes: try row.decode(at: 12)))
        }
        file = try row.decode(at: 13)
        challenges = try row.decode(at: 14)
        waitingFor = try row.decode(at: 24)
        attempts = try rows.compactMap { try Attempt(row: $0) }
        if let last = try Attempt(lastOf: row) { attempts.append(last) }
    }
}

extension Job.Attempt {
    /// The attempt that the job ended with, from its result; nil when it ended without one, or has not ended.
    fileprivate init?(lastOf row: Row) throws {
        guard let number = try row.decode(Int32?.self, at: 25) else { return nil }
        let start = try row.decode(Timestamp.self, at: 6)
        self.init(
            number: Int(number),
            startedAt: start,
            finishedAt: try row.decode(at: 7),
            state: try row.decode(at: 2),
            errorName: try row.decode(at: 26),
            status: try row.decode(Int16?.self, at: 27).map { Int($0) },
            metrics: try row.decode(RawJSON?.self, at: 28).map { StoredTransfers(json: $0).named(since: start) },
            decisions: try row.decode(at: 29)
        )
    }

    /// An earlier one; nil when the job has none.
    fileprivate init?(row: Row) throws {
        guard let number = try row.decode(Int32?.self, at: 15) else { return nil }
        let start = try row.decode(Timestamp.self, at: 16)
        self.init(
            number: Int(number),
            startedAt: start,
            finishedAt: try row.decode(at: 17),
            state: try row.decode(at: 18),
            errorName: try row.decode(at: 19),
            status: try row.decode(Int16?.self, at: 20).map { Int($0) },
            nextAttemptAt: try row.decode(at: 21),
            metrics: try row.decode(RawJSON?.self, at: 22).map { StoredTransfers(json: $0).named(since: start) },
            decisions: try row.decode(at: 23)
        )
    }
}

extension StoredBody {
    fileprivate init(row: Row) throws {
        let response = try row.decode(RawJSON?.self, at: 4).map { StoredResponse(json: $0) }
        let location: Location =
            if let bytes = try row.decode([UInt8]?.self, at: 0) {
                .inline(bytes)
            } else {
                .blob(try row.decode(at: 1))
            }
        self.init(
            location: location,
            bytes: try row.decode(at: 2),
            digest: SHA256Digest(bytes: try row.decode(at: 3)),
            contentType: response?.contentType,
            filename: try row.decode(String?.self, at: 5) ?? response?.suggestedFilename
        )
    }
}
