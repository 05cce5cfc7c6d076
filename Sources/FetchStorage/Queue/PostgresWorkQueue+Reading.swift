import FetchEngine
import FetchJobs
import FetchRuntime
import Postgres

// Claimed jobs, as far as they can be read.

extension PostgresWorkQueue {
    /// A claimed job that no node can run, and why.
    struct UnreadableJob {
        let id: Job.ID
        let tenant: Tenant.ID
        let claim: Int32
        let error: (code: LoadError.Code, message: String)
    }

    /// A claimed job that is left to a later claim, because those of its tenant before it have as many bytes as one claim
    /// reads.
    struct LeftJob {
        let id: Job.ID
        let tenant: Tenant.ID
        let claim: Int32
        let runAt: Timestamp

        fileprivate init(row: Row) throws {
            id = try row.decode(at: 0)
            tenant = try row.decode(at: 1)
            claim = try row.decode(at: 3)
            runAt = try row.decode(at: 5)
        }
    }

    /// What came of reading claimed jobs.
    struct ReadJobs {
        var jobs: [ClaimedJob] = []
        var unreadable: [UnreadableJob] = []
        var left: [LeftJob] = []
        /// The sum of the specs that were read.
        var bytes = 0
    }

    /// - Parameters:
    ///   - others: The specs that are not in the rows.
    ///   - maximum: Behind how many bytes of its tenant a job is left.
    /// - Throws: When the database cannot give the data that are needed to read a job.
    func read(
        _ rows: Rows, _ others: [Job.ID: StoredSpec], ofEach maximum: Int
    ) async throws -> ReadJobs {
        var read = ReadJobs()
        var bytes: [Tenant.ID: Int] = [:]
        for row in rows where try Limiter.Address(gateOf: row) == nil {
            guard let id = try row.decode(Job.ID?.self, at: 0) else { continue }
            guard
                let stored = try others[id]
                    ?? row.decode(RawJSON?.self, at: 2).map({ StoredSpec(spec: $0, secrets: try row.decode(at: 8)) })
            else {
                // Over several servers, one without its spec was given back already.
                if !client.isSharded { read.left.append(try LeftJob(row: row)) }
                continue
            }
            let tenant = try row.decode(Tenant.ID.self, at: 1)
            guard bytes[tenant, default: 0] < maximum else {
                read.left.append(try LeftJob(row: row))
                continue
            }
            let size = stored.spec.bytes.count + (stored.secrets?.count ?? 0)
            bytes[tenant, default: 0] += size
            read.bytes += size
            do {
                read.jobs.append(try await ClaimedJob(row: row, stored, keys: keys, specs: specs))
            } catch let error as PostgresError {
                throw error
            } catch let error as StoreError where error.code == .unavailable {
                throw error
            } catch {
                read.unreadable.append(
                    UnreadableJob(
                        id: try row.decode(at: 0), tenant: try row.decode(at: 1), claim: try row.decode(at: 3),
                        error: JobSpec.fault(error)))
            }
        }
        return read
    }

    /// Gives jobs back that were claimed and are not read.
    func giveBack(_ jobs: [LeftJob]) async throws {
        _ = try await release(jobs.map { ($0.tenant, $0.id, $0.claim) })
    }

    /// Ends jobs that no node can run: a claim that failed on them would be repeated without end (R3).
    func end(_ jobs: [UnreadableJob]) async throws {
        guard !jobs.isEmpty else { return }
        let rows = try await client.end(
            """
            -- queue.endUnreadable
            WITH ended AS (
                DELETE FROM queue q
                USING unnest(
                    \(jobs.map(\.tenant)),
                    \(jobs.map(\.id)),
                    \(jobs.map(\.claim)),
                    \(jobs.map(\.error.code.name)),
                    \(jobs.map { RawJSON($0.error.code, $0.error.message) })
                ) AS input (tenant_id, job_id, claim, error_name, error)
                WHERE q.tenant_id = input.tenant_id AND q.job_id = input.job_id AND q.claim = input.claim
                    AND q.node_id = \(node)
                RETURNING q.tenant_id, q.job_id, 'failed' AS state, NULL::timestamptz AS started_at, input.error_name,
                    input.error, q.endpoint_id, q.session_id, uuidv7() AS delivery_id, q.flow
            ), \(Query.ending(at: node, isSharded: client.isSharded))
            SELECT job_id\(Query.endedColumns(client.isSharded)) FROM ended
            """, at: 1, isSharded: client.isSharded)
        waiters.finish(try rows.map { try $0.decode(Job.ID.self, at: 0) })
    }
}

extension JobSpec {
    /// The code and the message for a stored spec that cannot be read.
    fileprivate static func fault(_ error: any Error) -> (LoadError.Code, String) {
        switch error {
        case let error as InvalidInput:
            let isURL = error.violations.first?.pointer.hasPrefix("/request/url") ?? false
            let faults = error.violations.map { "\($0.pointer) \($0.message)" }.joined(separator: "; ")
            return (isURL ? .badURL : .jobInvalid, "The job cannot be run: \(faults).")
        case let error as JSONParser.Failure:
            return (.jobInvalid, "The job cannot be read: \(error.message), at byte \(error.offset).")
        default:
            return (.userAuthenticationRequired, "The credentials that came with the job cannot be opened.")
        }
    }
}

extension ClaimedJob {
    fileprivate convenience init(row: Row, _ stored: StoredSpec, keys: TenantKeys, specs: StoredSpecs) async throws {
        let (id, tenant) = (try row.decode(Job.ID.self, at: 0), try row.decode(Tenant.ID.self, at: 1))
        // The API has checked it by the same reader; a job that came by SQL is checked here.
        var spec = try specs.take(id, stored.spec) ?? JobSpec(stored: try JSONParser.parse(stored.spec.bytes))
        if let secrets = stored.secrets {
            try await spec.open(secrets, of: id, tenant: tenant, keys: keys)
        }
        try spec.requireSecrets()
        let isCounted = try row.decode(Bool.self, at: 16)
        let mayWait = isCounted || spec.flow != nil
        self.init(
            id: id,
            tenant: tenant,
            spec: spec,
            claim: try row.decode(at: 3),
            tries: Int(try row.decode(Int16.self, at: 9)),
            expiresAt: try row.decode(at: 10),
            stores: StoresVersion(
                cookies: try row.decode(at: 6), credentials: try row.decode(at: 7), cache: try row.decode(at: 11),
                answers: try row.decode(at: 18)),
            isCounted: isCounted,
            waited: mayWait ? nil : try row.decode(at: 17),
            resumesAt: try row.decode(at: 19),
            endpoint: try row.decode(at: 20)
        )
    }
}
