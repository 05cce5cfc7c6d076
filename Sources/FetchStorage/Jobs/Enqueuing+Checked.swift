import FetchEngine
import FetchJobs
import Postgres

// Submissions that need a look at stored rows.

extension Enqueuing.Statements {
    /// The same for submissions with an Idempotency-Key or a unique key, which may turn out to be stored already, for
    /// those of sessions and groups, which may have ended, and for those that wait for a time.
    ///
    /// - Parameter change: A statement to run in the same; when it returns no row, nothing is stored.
    func insertChecked(
        _ submissions: [Enqueuing.Submission], with change: Query? = nil
    ) async throws -> [Enqueued] {
        // Which of them can start is known afterwards: unneeded slots go back.
        let startable = submissions.map(\.job).filter { $0.spec.startsAtOnce && !limiters.hold($0) }
        let isReserved = intake?.reserve(startable) ?? startable.map { _ in false }
        let reserved = zip(startable, isReserved).filter(\.1).map(\.0)
        let stored: [StoredJob]
        do {
            stored = try await store(submissions, claiming: Set(reserved.map(\.id)), with: change)
                .map { try StoredJob(row: $0) }
        } catch {
            intake?.giveUp(reserved)
            throw error
        }
        #if DEBUG
            if !stored.isEmpty { CrashPoint.jobStored.pass() }
        #endif
        start(stored, of: submissions, reserved: reserved)
        let accepted = Set(stored.map(\.id))
        let known = try await answers(
            of: submissions.map(\.job).filter { !accepted.contains($0.id) }, wereRefused: true)
        let outcomes = submissions.map { submission -> Enqueued? in
            accepted.contains(submission.job.id) ? .accepted(submission.job.id) : known[submission.job.id]
        }
        guard outcomes.contains(where: { $0 == nil }) else { return outcomes.compactMap(\.self) }
        let joining = try await joining(submissions)
        return zip(submissions, outcomes).map { submission, outcome in
            if let outcome { return outcome }
            let spec = submission.job.spec
            if spec.group != nil, !joining.contains(submission.job.id) { return .groupClosed }
            return spec.session == nil ? .conflict : .sessionInvalidated
        }
    }

    /// The jobs whose groups take jobs.
    private func joining(_ submissions: [Enqueuing.Submission]) async throws -> Set<Job.ID> {
        let named = submissions.filter { $0.job.spec.group != nil }
        guard !named.isEmpty else { return [] }
        let rows = try await client.query(
            """
            -- groups.open
            SELECT input.job_id
            FROM unnest(\(named.map(\.job.tenant)), \(named.map(\.job.id)), \(named.map(\.job.spec.group)))
                AS input (tenant_id, job_id, group_id)
            JOIN groups g ON g.tenant_id = input.tenant_id AND g.id = input.group_id
            WHERE g.closed_at IS NULL
            """
        )
        return Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
    }

    /// Starts those that are claimed, and calls for the others.
    private func start(_ stored: [StoredJob], of submissions: [Enqueuing.Submission], reserved: [NewJob]) {
        let claims = Dictionary(
            uniqueKeysWithValues: stored.compactMap { job in job.claim.map { (job.id, $0) } })
        let claimed = submissions.compactMap { submission -> ClaimedJob? in
            let job = submission.job
            guard let claim = claims[job.id] else { return nil }
            return ClaimedJob(
                id: job.id, tenant: job.tenant, spec: job.spec, claim: 1, expiresAt: job.spec.expiresAt,
                stores: claim.stores, storedAt: claim.storedAt, endpoint: claim.endpoint)
        }
        intake?.release(reserved.filter { claims[$0.id] == nil })
        start(claimed)
        let waiting = Set(stored.filter { $0.claim == nil && $0.wait == nil && !$0.isGated }.map(\.id))
        if !waiting.isEmpty { callWorkers(for: submissions.map(\.job).filter { waiting.contains($0.id) }) }
        let unclaimed = Set(stored.filter { $0.claim == nil }.map(\.id))
        if !unclaimed.isEmpty { specs.note(submissions.lazy.filter { unclaimed.contains($0.job.id) }) }
        if let wait = stored.compactMap(\.wait).min() { intake?.wake(after: wait) }
        let gated = Set(stored.filter(\.isGated).map(\.id))
        guard !gated.isEmpty else { return }
        let held = submissions.filter { gated.contains($0.job.id) }
        intake?.admit(held.flatMap { limiters.limiters(of: $0.job.spec, tenant: $0.job.tenant) })
    }

    private func store(
        _ submissions: [Enqueuing.Submission], claiming reserved: Set<Job.ID>, with change: Query?
    ) async throws -> Rows {
        let first: Query = if let change { "change AS (\(change)), " } else { "" }
        let host: Query = client.isSharded ? "host" : "CASE WHEN gate = 'host' THEN host END"
        let condition: Query = change == nil ? "" : " AND EXISTS (SELECT FROM change)"
        let job: Query =
            client.isSharded
            ? ""
            : """
            job AS (
                INSERT INTO jobs (
                    tenant_id, id, spec, sealed_secrets, kind, host, session, schedule_id, group_id, labels
                )
                SELECT tenant_id, id, spec, secrets, kind, host, session, schedule_id, group_id,
                    CASE WHEN has_labels THEN \(Query.labels) END
                FROM accepted
            ),
            """
        let statement: Query = """
            -- jobs.enqueueChecked
            WITH \(first)input AS MATERIALIZED (
                SELECT *
                FROM \(Enqueuing.input(columns(of: submissions, claiming: reserved)))
            ), \(Query.sessionsOfInput), \(Query.groupsOfInput), allowed AS MATERIALIZED (
                SELECT i.tenant_id, i.id, i.spec, i.rank, \(Query.endpoint(of: "i")) AS endpoint_id,
                    i.session_id, i.secrets, i.key, i.fingerprint, i.unique_key, i.unique_window, i.run_at, i.expires_at,
                    i.suspended, i.kind, i.host, i.session, i.has_labels, i.schedule_id, i.group_id, i.patience, i.flow,
                    CASE WHEN i.patience IS NULL AND coalesce(i.run_at <= now(), true) THEN i.gate END AS gate,
                    i.is_reserved AND NOT i.suspended AND i.patience IS NULL AND i.gate IS NULL AND NOT i.paused
                        AND coalesce(i.run_at <= now(), true) AND coalesce(i.expires_at > now(), true)
                        AS is_claimed
                FROM input i
                LEFT JOIN session ON session.tenant_id = i.tenant_id AND session.id = i.session_id
                LEFT JOIN open_group ON open_group.tenant_id = i.tenant_id AND open_group.id = i.group_id
                WHERE (i.session_id IS NULL OR session.id IS NOT NULL)
                    AND (i.group_id IS NULL OR open_group.id IS NOT NULL)\(condition)
            ), new_unique AS (
                INSERT INTO unique_keys AS known (tenant_id, key, job_id, expires_at)
                SELECT DISTINCT ON (a.tenant_id, a.unique_key)
                    a.tenant_id, a.unique_key, a.id, now() + a.unique_window
                FROM allowed a
                WHERE a.unique_key IS NOT NULL
                    AND NOT EXISTS (
                        SELECT FROM idempotency_keys k WHERE k.tenant_id = a.tenant_id AND k.key = a.key
                    )
                ORDER BY a.tenant_id, a.unique_key, a.id
                ON CONFLICT (tenant_id, key)
                    DO UPDATE SET job_id = excluded.job_id, expires_at = excluded.expires_at
                    WHERE known.expires_at <= now()
                RETURNING job_id
            ), new_key AS (
                INSERT INTO idempotency_keys (tenant_id, key, fingerprint, created_id)
                SELECT tenant_id, key, fingerprint, id
                FROM allowed
                WHERE key IS NOT NULL AND (unique_key IS NULL OR id IN (SELECT job_id FROM new_unique))
                -- In one order, so that two nodes that store the same keys cannot wait for each other.
                ORDER BY tenant_id, key
                ON CONFLICT DO NOTHING
                RETURNING created_id
            ), accepted AS (
                SELECT *
                FROM allowed
                WHERE (key IS NULL OR id IN (SELECT created_id FROM new_key))
                    AND (unique_key IS NULL OR id IN (SELECT job_id FROM new_unique))
            ), \(job) queued AS (
                INSERT INTO queue (
                    tenant_id, job_id, rank, endpoint_id, session_id, group_id, run_at, scheduled, discretionary, expires_at,
                    suspended, flow, gate, host, claim, node_id, claimed_at
                )
                SELECT tenant_id, id, rank, endpoint_id, session_id, group_id,
                    greatest(run_at, now()) + coalesce(patience, '0'),
                    coalesce(run_at > now(), false) OR patience IS NOT NULL, patience IS NOT NULL, expires_at, suspended,
                    flow, gate, \(host),
                    CASE WHEN is_claimed THEN 1 ELSE 0 END,
                    CASE WHEN is_claimed THEN \(node) END,
                    CASE WHEN is_claimed THEN now() END
                FROM accepted
                RETURNING tenant_id, job_id, session_id, endpoint_id, node_id IS NOT NULL AS is_claimed,
                    CASE WHEN scheduled THEN run_at - now() END AS wait, gate IS NOT NULL AS is_gated
            )
            SELECT q.job_id, q.is_claimed, q.wait, coalesce(s.cookies_version, 0),
                coalesce(t.credentials_version, 0), coalesce(s.cache_version, 0),
                q.is_gated, now(), coalesce(s.answers_version, 0), q.endpoint_id
            FROM queued q
            LEFT JOIN session_stores t
                ON t.tenant_id = q.tenant_id AND t.session_id = \(TenantSession.ID.default)
            LEFT JOIN session_stores s
                ON s.tenant_id = q.tenant_id AND s.session_id = coalesce(q.session_id, \(TenantSession.ID.default))
            """
        guard client.isSharded else { return try await client.query(statement) }
        return try await client.transaction { connection in
            let rows = try await connection.query(statement)
            let accepted = Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
            let stored = submissions.filter { accepted.contains($0.job.id) }
            if !stored.isEmpty { try await connection.query(Enqueuing.storing(stored)) }
            return rows
        }
    }

    private func columns(
        of submissions: [Enqueuing.Submission], claiming reserved: Set<Job.ID>
    ) -> [Enqueuing.Column] {
        Enqueuing.columns(of: submissions) + [
            ("session_id", "\(submissions.column { $0.job.spec.session })"),
            ("key", "\(submissions.column { $0.job.idempotency?.key })"),
            ("fingerprint", "\(submissions.column { $0.job.idempotency?.fingerprint.bytes })"),
            ("unique_key", "\(submissions.column { $0.job.spec.unique?.key })"),
            ("unique_window", "\(submissions.column { $0.job.spec.unique?.window })"),
            ("run_at", "\(submissions.column { $0.job.spec.runAt })"),
            ("expires_at", "\(submissions.column { $0.job.spec.expiresAt })"),
            ("suspended", "\(submissions.column { $0.job.spec.isSuspended })"),
            ("session", "\(submissions.column { $0.job.spec.session?.description })"),
            ("schedule_id", "\(submissions.column { $0.job.spec.schedule })"),
            ("group_id", "\(submissions.column { $0.job.spec.group })"),
            ("patience", "\(submissions.column { $0.job.spec.isDiscretionary ? JobSpec.patience : nil })"),
            ("flow", "\(submissions.column { $0.job.spec.flow?.key })"),
            ("gate", "\(submissions.column { limiters.limiters(of: $0.job.spec, tenant: $0.job.tenant).first?.kind })"),
            ("paused", "\(submissions.column { limiters.isPaused($0.job.tenant) })"),
            ("is_reserved", "\(submissions.column { reserved.contains($0.job.id) })"),
        ]
    }

    /// The outcomes for those jobs whose keys are stored already.
    ///
    /// - Parameter wereRefused: Whether they were to be stored, and were not: for a unique key whose window may have ended
    ///   since.
    func answers(of jobs: [NewJob], wereRefused: Bool = false) async throws -> [Job.ID: Enqueued] {
        let duplicates = try await duplicates(of: jobs.filter { $0.spec.unique != nil }, wereRefused)
        // A repeat of a request is told the job that this has made.
        return try await replays(of: jobs.filter { $0.idempotency != nil }).merging(duplicates) { replay, _ in replay }
    }

    private func duplicates(of jobs: [NewJob], _ wereRefused: Bool) async throws -> [Job.ID: Enqueued] {
        guard !jobs.isEmpty else { return [:] }
        let rows = try await client.query(
            """
            -- jobs.enqueuedUnique
            SELECT input.id, known.job_id
            FROM unnest(\(jobs.map(\.id)), \(jobs.map(\.tenant)), \(jobs.map(\.spec.unique?.key)))
                AS input (id, tenant_id, key)
            JOIN unique_keys known ON known.tenant_id = input.tenant_id AND known.key = input.key
            WHERE known.expires_at > now() OR \(wereRefused)
            """
        )
        let answers = try rows.map { row -> (Job.ID, Enqueued) in
            (try row.decode(at: 0), .duplicate(of: try row.decode(at: 1)))
        }
        return Dictionary(answers, uniquingKeysWith: { first, _ in first })
    }

    private func replays(of jobs: [NewJob]) async throws -> [Job.ID: Enqueued] {
        guard !jobs.isEmpty else { return [:] }
        let rows = try await client.query(
            """
            -- jobs.enqueuedBefore
            SELECT input.id, known.created_id, known.fingerprint = input.fingerprint
            FROM unnest(
                \(jobs.map(\.id)),
                \(jobs.map(\.tenant)),
                \(jobs.map(\.idempotency?.key)),
                \(jobs.map(\.idempotency?.fingerprint.bytes))
            ) AS input (id, tenant_id, key, fingerprint)
            JOIN idempotency_keys known ON known.tenant_id = input.tenant_id AND known.key = input.key
            """
        )
        let answers = try rows.map { row -> (Job.ID, Enqueued) in
            let isSame = try row.decode(Bool.self, at: 2)
            return (try row.decode(at: 0), isSame ? .replayed(try row.decode(at: 1)) : .conflict)
        }
        return Dictionary(answers, uniquingKeysWith: { first, _ in first })
    }
}

extension NewJob {
    /// Whether it can be stored, and run, without a look at stored rows: it has none of the columns that only this
    /// statement stores.
    var isPlain: Bool {
        idempotency == nil && spec.unique == nil && spec.session == nil && spec.runAt == nil && spec.expiresAt == nil
            && !spec.isSuspended && spec.schedule == nil && spec.group == nil && !spec.isDiscretionary
            && spec.flow == nil
    }
}

/// A submission that was accepted.
private struct StoredJob {
    let id: Job.ID
    /// The versions of the stores that it has to see, when it was stored, and the endpoint that is told of it; nil unless
    /// it is claimed already.
    let claim: (stores: StoresVersion, storedAt: Timestamp, endpoint: WebhookEndpoint.ID?)?
    /// How long it waits, when it is scheduled.
    let wait: Duration?
    /// Whether it waits at the gate of a limiter.
    let isGated: Bool

    init(row: Row) throws {
        id = try row.decode(at: 0)
        wait = try row.decode(at: 2)
        isGated = try row.decode(at: 6)
        claim =
            try row.decode(Bool.self, at: 1)
            ? (
                StoresVersion(
                    cookies: try row.decode(at: 3), credentials: try row.decode(at: 4), cache: try row.decode(at: 5),
                    answers: try row.decode(at: 8)),
                try row.decode(at: 7), try row.decode(at: 9)
            )
            : nil
    }
}

extension JobSpec {
    /// Nothing keeps it from running now.
    fileprivate var startsAtOnce: Bool {
        !isSuspended && !isDiscretionary && (runAt.map { $0 <= DatabaseClock.now } ?? true)
    }
}
