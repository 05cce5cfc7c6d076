import FetchEngine
import FetchJobs
import Postgres

/// Stores submissions, as many in one statement as gather while the one before is under way.
///
/// When the worker in this process has room, jobs are stored as claimed by it already and start when the statement
/// has committed: that saves the claim (direct dispatch).
struct Enqueuing: Sendable {
    private struct Submission: Sendable {
        let job: NewJob
        let spec: RawJSON
        let secrets: [UInt8]?
    }

    private let keys: TenantKeys
    private let plain: Batcher<Submission, Enqueued>
    private let checked: Batcher<Submission, Enqueued>

    init(
        client: Client,
        keys: TenantKeys,
        node: Node.ID,
        dispatch: (any DirectDispatch)?,
        announce: @escaping @Sendable () -> Void
    ) {
        self.keys = keys
        let statements = Statements(client: client, node: node, dispatch: dispatch, announce: announce)
        plain = Batcher(maximumItems: 500) { try await statements.insert($0) }
        checked = Batcher(maximumItems: 500) { try await statements.insertChecked($0) }
    }

    func enqueue(_ jobs: [NewJob]) async throws -> [Enqueued] {
        var submissions: [Submission] = []
        for job in jobs {
            let secret = job.spec.configuration.secretBytes
            let secrets = if let secret { try await job.seal(secret, keys) } else { [UInt8]?.none }
            submissions.append(Submission(job: job, spec: RawJSON(job.spec.json), secrets: secrets))
        }
        let isPlain = jobs.allSatisfy(\.isPlain)
        return try await (isPlain ? plain : checked).submit(submissions)
    }

    private struct Statements: Sendable {
        let client: Client
        let node: Node.ID
        let dispatch: (any DirectDispatch)?
        let announce: @Sendable () -> Void

        func insert(_ submissions: [Submission]) async throws -> [Enqueued] {
            let reserved = dispatch?.reserve(submissions.count) ?? 0
            let stores: Rows
            do {
                stores = try await client.query(
                    """
                    -- jobs.enqueue
                    WITH input AS (
                        SELECT tenant_id, id, spec, rank, endpoint_id, secrets, kind, host, has_labels,
                            position <= \(reserved) AS is_claimed
                        FROM unnest(
                            \(submissions.map(\.job.tenant)),
                            \(submissions.map(\.job.id)),
                            \(submissions.map(\.spec)),
                            \(submissions.map(\.job.spec.rank)),
                            \(submissions.map(\.job.spec.webhook?.endpoint)),
                            \(submissions.map(\.secrets)),
                            \(submissions.map(\.job.spec.kind.rawValue)),
                            \(submissions.map(\.job.spec.request.url.host)),
                            \(submissions.map { !$0.job.spec.labels.isEmpty })
                        ) WITH ORDINALITY AS input (
                            tenant_id, id, spec, rank, endpoint_id, secrets, kind, host, has_labels, position
                        )
                    ), job AS (
                        INSERT INTO jobs (tenant_id, id, spec, sealed_secrets, kind, host, labels)
                        SELECT tenant_id, id, spec, secrets, kind, host, CASE WHEN has_labels THEN \(Query.labels) END
                        FROM input
                    ), queued AS (
                        INSERT INTO queue (tenant_id, job_id, rank, endpoint_id, claim, node_id, claimed_at)
                        SELECT tenant_id, id, rank, endpoint_id,
                            CASE WHEN is_claimed THEN 1 ELSE 0 END,
                            CASE WHEN is_claimed THEN \(node) END,
                            CASE WHEN is_claimed THEN now() END
                        FROM input
                    )
                    SELECT tenant_id, session_id, cookies_version, credentials_version, cache_version
                    FROM session_stores
                    WHERE session_id = \(TenantSession.ID.default) AND tenant_id IN (SELECT tenant_id FROM input)
                    """
                )
            } catch {
                dispatch?.release(reserved)
                throw error
            }
            dispatchClaimed(submissions.prefix(reserved).map(\.job), try StoresVersion.bySession(stores))
            if reserved < submissions.count { callWorkers() }
            return submissions.map { .accepted($0.job.id) }
        }

        /// The same for submissions with an Idempotency-Key, which may turn out to be stored already, for those of
        /// sessions, which may have ended, and for those that wait for a time.
        func insertChecked(_ submissions: [Submission]) async throws -> [Enqueued] {
            let rows = try await client.query(
                """
                -- jobs.enqueueChecked
                WITH input AS MATERIALIZED (
                    SELECT *
                    FROM unnest(
                        \(submissions.map(\.job.tenant)),
                        \(submissions.map(\.job.id)),
                        \(submissions.map(\.spec)),
                        \(submissions.map(\.job.spec.rank)),
                        \(submissions.map(\.job.spec.webhook?.endpoint)),
                        \(submissions.map(\.job.spec.session)),
                        \(submissions.map(\.secrets)),
                        \(submissions.map(\.job.idempotency?.key)),
                        \(submissions.map(\.job.idempotency?.fingerprint.bytes)),
                        \(submissions.map(\.job.spec.runAt)),
                        \(submissions.map(\.job.spec.expiresAt)),
                        \(submissions.map(\.job.spec.isSuspended)),
                        \(submissions.map(\.job.spec.kind.rawValue)),
                        \(submissions.map(\.job.spec.request.url.host)),
                        \(submissions.map { $0.job.spec.session?.description }),
                        \(submissions.map { !$0.job.spec.labels.isEmpty })
                    ) AS input (
                        tenant_id, id, spec, rank, endpoint_id, session_id, secrets, key, fingerprint, run_at,
                        expires_at, suspended, kind, host, session, has_labels
                    )
                ), session AS MATERIALIZED (
                    SELECT s.tenant_id, s.id, s.endpoint_id, s.kind = 'background' AND NOT s.has_events AS is_quiet
                    FROM sessions s
                    WHERE (s.tenant_id, s.id) IN (SELECT tenant_id, session_id FROM input)
                        AND s.state = 'active' AND s.kind <> 'ephemeral'
                    ORDER BY s.tenant_id, s.id
                    -- The end of a session waits for this statement; changes to its stores do not.
                    FOR KEY SHARE
                ), woken AS (
                    UPDATE sessions s
                    SET has_events = true
                    FROM session
                    WHERE s.tenant_id = session.tenant_id AND s.id = session.id AND session.is_quiet
                ), allowed AS MATERIALIZED (
                    SELECT i.tenant_id, i.id, i.spec, i.rank, coalesce(i.endpoint_id, session.endpoint_id) AS endpoint_id,
                        i.session_id, i.secrets, i.key, i.fingerprint, i.run_at, i.expires_at,
                        i.suspended, i.kind, i.host, i.session, i.has_labels
                    FROM input i
                    LEFT JOIN session ON session.tenant_id = i.tenant_id AND session.id = i.session_id
                    WHERE i.session_id IS NULL OR session.id IS NOT NULL
                ), new_key AS (
                    INSERT INTO idempotency_keys (tenant_id, key, fingerprint, job_id)
                    SELECT tenant_id, key, fingerprint, id
                    FROM allowed
                    WHERE key IS NOT NULL
                    -- In one order, so that two nodes that store the same keys cannot wait for each other.
                    ORDER BY tenant_id, key
                    ON CONFLICT DO NOTHING
                    RETURNING job_id
                ), accepted AS (
                    SELECT *
                    FROM allowed
                    WHERE key IS NULL OR id IN (SELECT job_id FROM new_key)
                ), job AS (
                    INSERT INTO jobs (tenant_id, id, spec, sealed_secrets, kind, host, session, labels)
                    SELECT tenant_id, id, spec, secrets, kind, host, session,
                        CASE WHEN has_labels THEN \(Query.labels) END
                    FROM accepted
                )
                INSERT INTO queue (
                    tenant_id, job_id, rank, endpoint_id, session_id, run_at, scheduled, expires_at, suspended
                )
                SELECT tenant_id, id, rank, endpoint_id, session_id, greatest(run_at, now()),
                    coalesce(run_at > now(), false), expires_at, suspended
                FROM accepted
                RETURNING job_id, CASE WHEN scheduled THEN run_at - now() END
                """
            )
            let accepted = Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
            let waits = try rows.map { try $0.decode(Duration?.self, at: 1) }
            if waits.contains(nil) { callWorkers() }
            if let wait = waits.compactMap(\.self).min() { dispatch?.wake(after: wait) }
            let repeated = submissions.filter { !accepted.contains($0.job.id) && $0.job.idempotency != nil }
            let known = repeated.isEmpty ? [:] : try await answers(of: repeated)
            return submissions.map {
                if accepted.contains($0.job.id) { return .accepted($0.job.id) }
                return known[$0.job.id] ?? ($0.job.spec.session == nil ? .conflict : .sessionInvalidated)
            }
        }

        /// What the keys of these submissions stand for.
        private func answers(of submissions: [Submission]) async throws -> [Job.ID: Enqueued] {
            let rows = try await client.query(
                """
                -- jobs.enqueuedBefore
                SELECT input.id, known.job_id, known.fingerprint = input.fingerprint
                FROM unnest(
                    \(submissions.map(\.job.id)),
                    \(submissions.map(\.job.tenant)),
                    \(submissions.map(\.job.idempotency?.key)),
                    \(submissions.map(\.job.idempotency?.fingerprint.bytes))
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

        private func dispatchClaimed(_ jobs: [NewJob], _ stores: [SessionAddress: StoresVersion]) {
            guard !jobs.isEmpty else { return }
            dispatch?.start(
                jobs.map { job in
                    let version = stores[SessionAddress(tenant: job.tenant)] ?? StoresVersion()
                    return ClaimedJob(id: job.id, tenant: job.tenant, spec: job.spec, claim: 1, stores: version)
                }
            )
        }

        private func callWorkers() {
            dispatch?.wake()
            announce()
        }
    }
}

extension JobSpec {
    /// Its place among the jobs that wait: 0 goes first.
    var rank: Int16 { Int16((1000 * (1 - priority)).rounded()) }
}

extension NewJob {
    /// It can be stored, and run, without another look.
    fileprivate var isPlain: Bool {
        idempotency == nil && spec.session == nil && spec.runAt == nil && spec.expiresAt == nil && !spec.isSuspended
    }
}

extension StoresVersion {
    /// The versions of the sessions that have stores.
    fileprivate static func bySession(_ rows: Rows) throws -> [SessionAddress: StoresVersion] {
        let versions = try rows.map { row in
            let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
            let version = StoresVersion(
                cookies: try row.decode(at: 2), credentials: try row.decode(at: 3), cache: try row.decode(at: 4))
            return (session, version)
        }
        return Dictionary(versions, uniquingKeysWith: { first, _ in first })
    }
}
