import FetchEngine
import FetchJobs
import Postgres

// The end of jobs where their results are on other servers than the queue: several statements in one transaction, of which
// each reads or writes one side.

extension Query {
    /// Further columns of a statement that ends jobs, from its part `ended`; none over one server.
    static func endedColumns(_ isSharded: Bool) -> Query {
        isSharded
            ? ", tenant_id, job_id, state, started_at, error_name, error, endpoint_id, session_id, delivery_id" : ""
    }

    /// The same of rows that have not ended.
    static func noEndedColumns(_ isSharded: Bool) -> Query {
        isSharded
            ? """
            , NULL::bigint, NULL::uuid, NULL, NULL::timestamptz, NULL, NULL::json, NULL::uuid, NULL::uuid, NULL::uuid
            """ : ""
    }
}

extension QueryRunner {
    /// Which of some jobs of some tenants have their results.
    func finalJobs(among jobs: [Job.ID], of tenants: Set<Tenant.ID>) async throws -> Set<Job.ID> {
        try await find("results.known", "job_id", in: "results", of: jobs, of: tenants)
    }

    /// The values that a column has in the rows of some jobs of some tenants.
    ///
    /// - Parameters:
    ///   - name: The name of the statement.
    ///   - key: The column of the jobs' ids.
    ///   - condition: Further words of the condition, from `AND`.
    func find<Value: PostgresValue & Hashable>(
        _ name: Query, _ column: Query, in table: Query, by key: Query = "job_id", of jobs: [Job.ID],
        of tenants: Set<Tenant.ID>, _ condition: Query = ""
    ) async throws -> Set<Value> {
        // By lists: from them it is known which servers have the rows.
        Set(
            try await query(
                """
                -- \(name)
                SELECT \(column)
                FROM \(table)
                WHERE tenant_id = ANY (\(Array(tenants))) AND \(key) = ANY (\(jobs)) \(condition)
                """
            ).map { try $0.decode(Value.self, at: 0) })
    }
}

extension TransactionRunner {
    /// Runs a statement that ends jobs.
    ///
    /// - Parameter column: Where its ``Query/endedColumns(_:)`` begin.
    func end(_ statement: Query, at column: Int, isSharded: Bool) async throws -> Rows {
        guard isSharded else { return try await query(statement) }
        return try await transaction { connection in
            let rows = try await connection.query(statement)
            try await connection.storeEnds(rows, at: column)
            return rows
        }
    }
}

extension Connection {
    /// Has a transaction of one server beside the coordinator be committed in two phases, as one of several is.
    ///
    /// Otherwise the coordinator would commit what it has after the other, and neither knows when one is lost in between.
    /// Every statement that stores rows from a list asks for that, also one of none.
    func commitInTwoPhases() async throws {
        try await query(
            """
            -- shards.commitInTwoPhases
            INSERT INTO attempts (tenant_id, job_id, number, started_at, finished_at, state)
            SELECT tenant_id, uuidv7(), 1, now(), now(), 'failed'
            FROM unnest('{}'::bigint[]) AS input (tenant_id)
            """
        )
    }

    /// Stores the results of jobs that a statement has ended, and whom to tell of them.
    func storeEnds(_ rows: Rows, at column: Int) async throws {
        let ended = try rows.compactMap { try EndedRow($0, at: column) }
        guard !ended.isEmpty else { return }
        try await query(
            """
            -- results.end
            INSERT INTO results (tenant_id, job_id, state, started_at, error_name, error)
            SELECT tenant_id, job_id, state, started_at, error_name, error
            FROM unnest(
                \(ended.column { $0.tenant }), \(ended.column { $0.id }), \(ended.column { $0.state }),
                \(ended.column { $0.startedAt }), \(ended.column { $0.errorName }), \(ended.column { $0.error })
            ) AS input (tenant_id, job_id, state, started_at, error_name, error)
            """
        )
        let wishes = try await query(
            """
            -- jobs.wishes
            SELECT j.tenant_id, j.id, j.spec #> '{callbacks,failure}' IS NOT NULL,
                json_build_object('webhook', j.spec -> 'webhook')
            FROM jobs j
            WHERE j.tenant_id = ANY (\(Array(Set(ended.map(\.tenant))))) AND j.id = ANY (\(ended.map(\.id)))
            """
        ).map { row in
            (
                tenant: try row.decode(Tenant.ID.self, at: 0), id: try row.decode(Job.ID.self, at: 1),
                owes: try row.decode(Bool.self, at: 2), spec: try row.decode(RawJSON.self, at: 3)
            )
        }
        try await query(
            """
            -- results.tell
            WITH ended AS MATERIALIZED (
                SELECT input.*, wish.owes, wish.spec
                FROM unnest(
                    \(ended.column { $0.tenant }), \(ended.column { $0.id }), \(ended.column { $0.state }),
                    \(ended.column { $0.errorName }), \(ended.column { $0.endpoint }),
                    \(ended.column { $0.session }), \(ended.column { $0.delivery })
                ) AS input (tenant_id, job_id, state, error_name, endpoint_id, session_id, delivery_id)
                JOIN unnest(
                    \(wishes.map(\.tenant)), \(wishes.map(\.id)), \(wishes.map(\.owes)), \(wishes.map(\.spec))
                ) AS wish (tenant_id, job_id, owes, spec)
                    ON wish.tenant_id = input.tenant_id AND wish.job_id = input.job_id
            ), owed AS (
                INSERT INTO owed_callbacks (tenant_id, job_id, error_name)
                SELECT tenant_id, job_id, error_name
                FROM ended
                WHERE state = 'failed' AND owes
                ON CONFLICT DO NOTHING
            )
            INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, session_id, event)
            SELECT d.tenant_id, d.delivery_id, e.id, d.job_id, d.session_id, \(WebhookEvent.jobFinished)
            FROM ended d
            JOIN webhook_endpoints e ON e.tenant_id = d.tenant_id AND e.id = d.endpoint_id
            WHERE wants_event(d.spec, e.events, \(WebhookEvent.jobFinished))
            """
        )
    }
}

/// A job that a statement has ended, as it tells of it.
private struct EndedRow: Sendable {
    let tenant: Tenant.ID
    let id: Job.ID
    let state: String
    let startedAt: Timestamp?
    let errorName: String
    let error: RawJSON
    let endpoint: WebhookEndpoint.ID?
    let session: TenantSession.ID?
    let delivery: WebhookDelivery.ID

    /// Nil for a row of a job that has not ended.
    init?(_ row: Row, at column: Int) throws {
        guard let tenant = try row.decode(Tenant.ID?.self, at: column) else { return nil }
        self.tenant = tenant
        id = try row.decode(at: column + 1)
        state = try row.decode(at: column + 2)
        startedAt = try row.decode(at: column + 3)
        errorName = try row.decode(at: column + 4)
        error = try row.decode(at: column + 5)
        endpoint = try row.decode(at: column + 6)
        session = try row.decode(at: column + 7)
        delivery = try row.decode(at: column + 8)
    }
}
