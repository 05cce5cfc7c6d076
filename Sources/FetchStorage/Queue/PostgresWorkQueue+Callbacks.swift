import FetchEngine
import FetchJobs
import Postgres

// Jobs that tell of the attempts of others: stored in the statement that ends the attempt, or by those who find that a job
// was given up where no node ran it.

extension PostgresWorkQueue {
    /// A job to be stored when the claim it tells of is still held.
    struct Callback: Sendable {
        let source: ClaimKey
        let submission: Enqueuing.Submission
    }

    func callbacks(of job: ClaimedJob, _ outcome: JobOutcome) async throws -> [Callback] {
        try await callbacks(outcome.callbacks, of: job.key)
    }

    private func callbacks(_ jobs: [NewJob], of source: ClaimKey) async throws -> [Callback] {
        var callbacks: [Callback] = []
        for job in jobs {
            let submission = Enqueuing.Submission(
                job: job, spec: RawJSON(job.spec.json), secrets: try await job.sealed(keys))
            callbacks.append(Callback(source: source, submission: submission))
        }
        return callbacks
    }

    /// How many jobs one statement tells of.
    private static let owedLimit = 100

    /// Stores the callbacks of jobs that were given up where no node ran them.
    func storeOwedCallbacks() async throws {
        let join: Query =
            client.isSharded
            ? "LEFT JOIN (SELECT NULL::json AS spec, NULL::bytea AS sealed_secrets) AS j ON false"
            : "LEFT JOIN jobs j ON j.tenant_id = o.tenant_id AND j.id = o.job_id"
        let rows = try await client.query(
            """
            -- callbacks.owed
            SELECT o.tenant_id, o.job_id, j.spec, j.sealed_secrets, o.error_name
            FROM owed_callbacks o
            \(join)
            LIMIT \(Self.owedLimit)
            """
        )
        guard !rows.isEmpty else { return }
        let specs = try await specs(of: rows.map { (tenant: try $0.decode(at: 0), id: try $0.decode(at: 1)) })
        var (sources, callbacks) = ([(tenant: Tenant.ID, id: Job.ID)](), [Callback]())
        for row in rows {
            let (tenant, id) = (try row.decode(Tenant.ID.self, at: 0), try row.decode(Job.ID.self, at: 1))
            sources.append((tenant, id))
            // Of a job that is gone, or cannot be read, there is nothing to tell.
            let known = specs[id]
            let stored = try known?.spec ?? row.decode(RawJSON?.self, at: 2)
            guard var spec = stored.flatMap({ try? JobSpec(stored: JSONParser.parse($0.bytes)) }) else { continue }
            if let secrets = try known?.secrets ?? row.decode([UInt8]?.self, at: 3) {
                do { try await spec.open(secrets, of: id, tenant: tenant, keys: keys) } catch { continue }
            }
            let report = AttemptReport(of: id, tenant, spec, lostBy: try row.decode(at: 4))
            // The slot of the job in its flow is another's by now.
            let jobs = report.callbacks([.failure], isEnd: false)
            callbacks += try await self.callbacks(jobs, of: ClaimKey(id: id, claim: 0))
        }
        let statement: Query = """
            -- callbacks.store
            WITH owed AS (
                DELETE FROM owed_callbacks o
                USING unnest(\(sources.map(\.tenant)), \(sources.map(\.id))) AS asked (tenant_id, job_id)
                WHERE o.tenant_id = asked.tenant_id AND o.job_id = asked.job_id
                RETURNING o.tenant_id, o.job_id, 0 AS claim, false AS in_flow
            )\(Query.enqueuing(callbacks, of: "owed", isSharded: client.isSharded))
            SELECT tenant_id, job_id FROM owed
            """
        guard client.isSharded else {
            try await client.query(statement)
            return
        }
        try await client.transaction { [callbacks] connection in
            let owed = Set(try await connection.query(statement).map { try $0.decode(Job.ID.self, at: 1) })
            let stored = callbacks.filter { owed.contains($0.source.id) }.map(\.submission)
            if !stored.isEmpty { try await connection.query(Enqueuing.storing(stored)) }
        }
    }
}

extension Query {
    /// Stores the callbacks of claims, each if its claim is one of `source`, which has the columns `tenant_id`, `job_id`,
    /// `claim` and `in_flow`; nothing where there are none, so that other statements stay as short as they are.
    ///
    /// A callback with a flow is in the slot that its source had there.
    static func enqueuing(
        _ callbacks: [PostgresWorkQueue.Callback], of source: Query, isSharded: Bool
    ) -> Query {
        guard !callbacks.isEmpty else { return "" }
        let host = Enqueuing.hostColumn(isSharded: isSharded)
        // On other servers, ``Enqueuing/storing(_:)`` stores those whose source was held.
        let jobs: Query =
            isSharded
            ? ""
            : """
            , callback_job AS (
                INSERT INTO jobs (tenant_id, id, spec, sealed_secrets, kind, host, labels)
                SELECT tenant_id, id, spec, secrets, kind, host, CASE WHEN has_labels THEN \(Query.labels) END
                FROM callback
            )
            """
        let submissions = callbacks.map(\.submission)
        return """
            , callback AS MATERIALIZED (
                SELECT input.*, input.flow IS NOT NULL AND s.in_flow AS in_flow
                FROM \(Enqueuing.input(
                    Enqueuing.columns(of: submissions) + [
                        ("source_id", "\(callbacks.map(\.source.id))"), ("claim", "\(callbacks.map(\.source.claim))"),
                        ("flow", "\(submissions.map(\.job.spec.flow?.key))"),
                    ]))
                JOIN \(source) s
                    ON s.tenant_id = input.tenant_id AND s.job_id = input.source_id AND s.claim = input.claim
            )\(jobs), callback_queued AS (
                INSERT INTO queue (tenant_id, job_id, rank, flow, in_flow\(host))
                SELECT tenant_id, id, rank, flow, in_flow\(host)
                FROM callback
            )
            """
    }

    /// Notes jobs that failed where no node ran them, and whose end is to be told.
    ///
    /// - Parameter source: A `WITH` part that has the columns `tenant_id`, `job_id`, `state` and `error_name`.
    static func owingCallbacks(of source: Query) -> Query {
        """
        owed AS (
            INSERT INTO owed_callbacks (tenant_id, job_id, error_name)
            SELECT s.tenant_id, s.job_id, s.error_name
            FROM \(source) s
            JOIN jobs j ON j.tenant_id = s.tenant_id AND j.id = s.job_id
            WHERE s.state = 'failed' AND j.spec #> '{callbacks,failure}' IS NOT NULL
            ON CONFLICT DO NOTHING
        )
        """
    }
}
