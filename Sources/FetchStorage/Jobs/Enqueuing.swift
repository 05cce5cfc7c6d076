import FetchEngine
import FetchJobs
import Postgres

/// Stores submissions, as many in one statement as gather while the one before is under way.
///
/// When the worker in this process has room, jobs are stored as claimed by it already and start when the statement
/// has committed: that saves the claim (direct dispatch).
struct Enqueuing: Sendable {
    /// An object, for a statement takes it apart field by field.
    final class Submission: Sendable {
        let job: NewJob
        let spec: RawJSON
        let secrets: [UInt8]?

        init(job: NewJob, spec: RawJSON, secrets: [UInt8]?) {
            self.job = job
            self.spec = spec
            self.secrets = secrets
        }
    }

    private let keys: TenantKeys
    private let statements: Statements
    private let limiters: KnownLimiters
    private let quotas: TenantQuota?
    private let plain: Batcher<Submission, Enqueued>
    private let checked: Batcher<Submission, Enqueued>

    init(
        client: Client,
        genericPlan: Client,
        keys: TenantKeys,
        node: Node.ID,
        limiters: KnownLimiters,
        quotas: TenantQuota?,
        specs: StoredSpecs,
        intake: (any Intake)?,
        announce: @escaping @Sendable (Notice) -> Void
    ) {
        self.keys = keys
        self.limiters = limiters
        self.quotas = quotas
        let statements = Statements(
            client: client, genericPlan: genericPlan, node: node, limiters: limiters, quotas: quotas, specs: specs,
            intake: intake, announce: announce)
        self.statements = statements
        plain = Batcher(maximumItems: 500) { try await statements.insert($0) }
        checked = Batcher(maximumItems: 500) { try await statements.insertChecked($0) }
    }

    /// - Parameter jobs: Of one tenant, when there are quotas.
    func enqueue(_ submitted: [NewJob]) async throws -> [Enqueued] {
        let jobs = try await naming(submitted)
        guard let quotas, let tenant = jobs.first?.tenant, let quota = quotas.quota(of: tenant) else {
            return try await store(jobs)
        }
        let room = try await quotas.take(jobs.count, of: tenant)
        let stored = room > 0 ? try await store(Array(jobs.prefix(room))) : []
        quotas.giveBack(stored.count { !$0.isAccepted }, of: tenant)
        let others = Array(jobs.dropFirst(room))
        guard !others.isEmpty else { return stored }
        // Jobs that are stored already are not refused.
        let known = try await statements.answers(of: others)
        return stored + others.map { known[$0.id] ?? .queueFull(quota: quota) }
    }

    private func store(_ jobs: [NewJob]) async throws -> [Enqueued] {
        let isPlain = jobs.allSatisfy { $0.isPlain && !limiters.hold($0) }
        return try await (isPlain ? plain : checked).submit(try await submissions(of: jobs))
    }

    /// Stores jobs in one statement with a change, which is theirs alone; neither when there is no room for all of them.
    ///
    /// - Parameter jobs: Of one tenant.
    func enqueue(_ jobs: [NewJob], with change: Query) async throws -> [Enqueued] {
        let submissions = try await submissions(of: jobs)
        guard let quotas, let tenant = jobs.first?.tenant, let quota = quotas.quota(of: tenant) else {
            return try await statements.insertChecked(submissions, with: change)
        }
        let room = try await quotas.take(jobs.count, of: tenant)
        guard room == jobs.count else {
            quotas.giveBack(room, of: tenant)
            return jobs.map { _ in .queueFull(quota: quota) }
        }
        let enqueued = try await statements.insertChecked(submissions, with: change)
        quotas.giveBack(enqueued.count { !$0.isAccepted }, of: tenant)
        return enqueued
    }

    private func naming(_ jobs: [NewJob]) async throws -> [NewJob] {
        guard jobs.contains(where: { $0.idempotency != nil }) else { return jobs }
        var named: [NewJob] = []
        for job in jobs { named.append(try await job.naming(keys)) }
        return named
    }

    private func submissions(of jobs: [NewJob]) async throws -> [Submission] {
        var submissions: [Submission] = []
        for job in jobs {
            let secrets = try await job.sealed(keys)
            submissions.append(Submission(job: job, spec: RawJSON(job.spec.json), secrets: secrets))
        }
        return submissions
    }

    /// A column of the input, with its value for each job.
    typealias Column = (name: Query, values: Query)

    /// The columns that are stored of every job.
    static func columns(of submissions: [Submission]) -> [Column] {
        [
            ("tenant_id", "\(submissions.column { $0.job.tenant })"),
            ("id", "\(submissions.column { $0.job.id })"),
            ("spec", "\(submissions.column { $0.spec })"),
            ("rank", "\(submissions.column { $0.job.spec.rank })"),
            ("endpoint_id", "\(submissions.column { $0.job.spec.webhook?.endpoint })"),
            ("secrets", "\(submissions.column { $0.secrets })"),
            ("kind", "\(submissions.column { $0.job.spec.kind.rawValue })"),
            ("host", "\(submissions.column { $0.job.originQueue?.host })"),
            ("has_labels", "\(submissions.column { !$0.job.spec.labels.isEmpty })"),
        ]
    }

    /// A further column of the queue: the host, which claims cannot look up in the tables of other servers.
    static func hostColumn(isSharded: Bool) -> Query { isSharded ? ", host" : "" }

    /// The rows `input` of these columns.
    static func input(_ columns: [Column]) -> Query {
        var query = Query.Interpolation(literalCapacity: 0, interpolationCount: 2 * columns.count)
        query.appendLiteral("unnest(")
        for (index, column) in columns.enumerated() {
            if index > 0 { query.appendLiteral(", ") }
            query.appendInterpolation(column.values)
        }
        query.appendLiteral(") AS input (")
        for (index, column) in columns.enumerated() {
            if index > 0 { query.appendLiteral(", ") }
            query.appendInterpolation(column.name)
        }
        query.appendLiteral(")")
        return Query(stringInterpolation: query)
    }

    /// Stores jobs where they are on other servers than the queue.
    static func storing(_ submissions: [Submission]) -> Query {
        """
        -- jobs.insert
        INSERT INTO jobs (
            tenant_id, id, spec, sealed_secrets, kind, host, session, schedule_id, group_id, labels
        )
        SELECT tenant_id, id, spec, secrets, kind, host, session, schedule_id, group_id,
            CASE WHEN has_labels THEN \(Query.labels) END
        FROM \(input([
            ("tenant_id", "\(submissions.column { $0.job.tenant })"),
            ("id", "\(submissions.column { $0.job.id })"),
            ("spec", "\(submissions.column { $0.spec })"),
            ("secrets", "\(submissions.column { $0.secrets })"),
            ("kind", "\(submissions.column { $0.job.spec.kind.rawValue })"),
            ("host", "\(submissions.column { $0.job.originQueue?.host })"),
            ("session", "\(submissions.column { $0.job.spec.session?.description })"),
            ("schedule_id", "\(submissions.column { $0.job.spec.schedule })"),
            ("group_id", "\(submissions.column { $0.job.spec.group })"),
            ("has_labels", "\(submissions.column { !$0.job.spec.labels.isEmpty })"),
        ]))
        """
    }

    struct Statements: Sendable {
        let client: Client
        let genericPlan: Client
        let node: Node.ID
        let limiters: KnownLimiters
        let quotas: TenantQuota?
        let specs: StoredSpecs
        let intake: (any Intake)?
        let announce: @Sendable (Notice) -> Void

        func insert(_ submissions: [Submission]) async throws -> [Enqueued] {
            let jobs = submissions.map(\.job)
            let isClaimed = intake?.reserve(jobs) ?? jobs.map { _ in false }
            let claimed = zip(jobs, isClaimed).filter(\.1).map(\.0)
            let host = Enqueuing.hostColumn(isSharded: client.isSharded)
            let job: Query =
                client.isSharded
                ? ""
                : """
                job AS (
                    INSERT INTO jobs (tenant_id, id, spec, sealed_secrets, kind, host, labels)
                    SELECT tenant_id, id, spec, secrets, kind, host, CASE WHEN has_labels THEN \(Query.labels) END
                    FROM input
                ),
                """
            let tenants: Rows
            do {
                tenants = try await query(
                    """
                    -- jobs.enqueue
                    WITH input AS (
                        SELECT *
                        FROM \(Enqueuing.input(Enqueuing.columns(of: submissions) + [("is_claimed", "\(isClaimed)")]))
                    ), \(job) queued AS (
                        INSERT INTO queue (tenant_id, job_id, rank, endpoint_id, claim, node_id, claimed_at\(host))
                        SELECT tenant_id, id, rank,
                            coalesce(endpoint_id, \(Query.defaultEndpoint(of: "input.tenant_id"))),
                            CASE WHEN is_claimed THEN 1 ELSE 0 END,
                            CASE WHEN is_claimed THEN \(node) END,
                            CASE WHEN is_claimed THEN now() END\(host)
                        FROM input
                    )
                    SELECT tenant.tenant_id, now(), coalesce(s.cookies_version, 0), coalesce(s.credentials_version, 0),
                        coalesce(s.cache_version, 0), \(Query.defaultEndpoint(of: "tenant.tenant_id"))
                    FROM (SELECT DISTINCT tenant_id FROM input) AS tenant
                    LEFT JOIN LATERAL (
                        SELECT s.cookies_version, s.credentials_version, s.cache_version
                        FROM session_stores s
                        WHERE s.tenant_id = tenant.tenant_id AND s.session_id = \(TenantSession.ID.default)
                        OFFSET 0
                    ) AS s ON true
                    """, storing: submissions)
            } catch {
                intake?.giveUp(claimed)
                throw error
            }
            #if DEBUG
                CrashPoint.jobStored.pass()
            #endif
            start(try Self.claimed(claimed, tenants))
            if claimed.count < jobs.count {
                let waiting = zip(submissions, isClaimed).filter { !$1 }.map(\.0)
                specs.note(waiting)
                callWorkers(for: waiting.map(\.job))
            }
            return submissions.map { .accepted($0.job.id) }
        }

        /// Runs the statement that puts jobs into the queue, with the one that stores them, where it does not itself.
        private func query(_ statement: Query, storing submissions: [Submission]) async throws -> Rows {
            guard client.isSharded else { return try await genericPlan.query(statement) }
            return try await genericPlan.transaction { connection in
                try await connection.query(Enqueuing.storing(submissions))
                return try await connection.query(statement)
            }
        }

        /// - Parameter tenants: The time, the versions of the stores and the default endpoint of each tenant, read when
        ///   its jobs were stored.
        private static func claimed(_ jobs: [NewJob], _ tenants: Rows) throws -> [ClaimedJob] {
            guard !jobs.isEmpty else { return [] }
            let known = try tenants.map { row in
                let stores = StoresVersion(
                    cookies: try row.decode(at: 2), credentials: try row.decode(at: 3), cache: try row.decode(at: 4))
                return (
                    tenant: try row.decode(Tenant.ID.self, at: 0), at: try row.decode(Timestamp.self, at: 1),
                    stores: stores, endpoint: try row.decode(WebhookEndpoint.ID?.self, at: 5)
                )
            }
            return jobs.map { job in
                let known = known.first { $0.tenant == job.tenant }
                return ClaimedJob(
                    id: job.id, tenant: job.tenant, spec: job.spec, claim: 1, stores: known?.stores ?? StoresVersion(),
                    storedAt: known?.at, endpoint: job.spec.webhook?.endpoint ?? known?.endpoint,
                    originQueue: job.originQueue)
            }
        }

        /// Starts jobs that were stored as claimed: they have never waited.
        func start(_ jobs: [ClaimedJob]) {
            guard !jobs.isEmpty else { return }
            if let quotas {
                // Together, as far as they stand together: most statements have the jobs of one tenant.
                var rest = jobs[...]
                while let tenant = rest.first?.tenant {
                    let next = rest.firstIndex { $0.tenant != tenant } ?? rest.endIndex
                    quotas.giveBack(next - rest.startIndex, of: tenant)
                    rest = rest[next...]
                }
            }
            intake?.start(jobs)
        }

        func callWorkers(for jobs: [NewJob]) {
            intake?.wake(for: Set(jobs.map(\.tenant)))
            announce(.jobs)
        }
    }
}

extension JobSpec {
    /// Its place among the jobs that wait: 0 goes first.
    var rank: Int16 { Int16((1000 * (1 - priority)).rounded()) }
}
