package import FetchJobs
package import Postgres

/// The schedules in PostgreSQL.
package struct PostgresScheduleStore: ScheduleStore {
    let client: Client
    let jobs: PostgresJobStore
    private let onChange: @Sendable () -> Void

    /// - Parameters:
    ///   - jobs: Stores the jobs that schedules make.
    ///   - onChange: Is called when a schedule may have a time that nobody here knows of.
    package init(client: Client, jobs: PostgresJobStore, onChange: @escaping @Sendable () -> Void = {}) {
        self.client = client
        self.jobs = jobs
        self.onChange = onChange
    }

    package func create(
        _ schedule: Schedule, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<Schedule> {
        let key = CreationKey(idempotency, of: "schedule")
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- schedules.create
                WITH \(key.storing(for: schedule.id, of: schedule.tenant))
                INSERT INTO schedules AS s (tenant_id, id, spec, created_at, next_run_at)
                SELECT \(schedule.tenant), \(schedule.id), \(RawJSON(schedule.spec.json)), \(schedule.createdAt),
                    \(schedule.nextRunAt)
                WHERE \(key.isNew)
                RETURNING \(Schedule.columns)
                """
            )
            if let row = rows.first {
                onChange()
                return .created(try Schedule(row: row))
            }
            let earlier = try await client.query(
                """
                -- schedules.createdBefore
                SELECT \(Schedule.columns)
                FROM idempotency_keys k
                JOIN schedules s ON s.tenant_id = k.tenant_id AND s.id = k.job_id
                WHERE \(key.isSame(in: schedule.tenant))
                """
            )
            return try earlier.first.map { .replayed(try Schedule(row: $0)) } ?? .conflict
        }
    }

    package func schedule(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Schedule? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- schedules.find
                SELECT \(Schedule.columns)
                FROM schedules s
                WHERE s.tenant_id = \(tenant) AND s.id = \(id)
                """
            )
            return try rows.first.map { try Schedule(row: $0) }
        }
    }

    package func schedules(
        of tenant: Tenant.ID, after schedule: Schedule.ID?, limit: Int
    ) async throws(StoreError) -> [Schedule] {
        let start = schedule ?? Schedule.ID(UUIDv7(high: .max, low: .max))
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- schedules.list
                SELECT \(Schedule.columns)
                FROM schedules s
                WHERE s.tenant_id = \(tenant) AND s.id < \(start)
                ORDER BY s.id DESC
                LIMIT \(limit)
                """
            )
            return try rows.map { try Schedule(row: $0) }
        }
    }

    package func update(_ schedule: Schedule) async throws(StoreError) -> Schedule? {
        let changed = try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- schedules.update
                UPDATE schedules s
                SET spec = \(RawJSON(schedule.spec.json)), version = s.version + 1, paused_at = \(schedule.pausedAt),
                    next_run_at = \(schedule.nextRunAt)
                WHERE s.tenant_id = \(schedule.tenant) AND s.id = \(schedule.id) AND s.version = \(schedule.version)
                RETURNING \(Schedule.columns)
                """
            )
            return try rows.first.map { try Schedule(row: $0) }
        }
        if changed != nil { onChange() }
        return changed
    }

    package func remove(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- schedules.remove
                DELETE FROM schedules WHERE tenant_id = \(tenant) AND id = \(id)
                """
            ).affected > 0
        }
    }

    package func run(_ schedule: Schedule, _ job: NewJob) async throws(StoreError) -> Enqueued {
        try await StoreError.wrap {
            guard let enqueued = try await jobs.enqueue([job]).first else {
                throw StoreError(.failed, "The job of a schedule was not stored.")
            }
            guard case .accepted = enqueued else { return enqueued }
            try await client.query(
                """
                -- schedules.ran
                UPDATE schedules
                SET last_run_at = now(), last_job_id = \(job.id), last_error = NULL, last_error_at = NULL, runs = runs + 1
                WHERE tenant_id = \(schedule.tenant) AND id = \(schedule.id)
                """
            )
            return enqueued
        }
    }
}

extension Schedule {
    static let columns: Query = """
        s.tenant_id, s.id, s.spec, s.version, s.created_at, s.paused_at, s.next_run_at, s.last_run_at, s.last_job_id,
        s.last_error, s.last_error_at, s.runs
        """
    static let columnCount = 12

    init(row: Row) throws {
        self.init(
            id: try row.decode(at: 1),
            tenant: try row.decode(at: 0),
            // What is stored was checked by the same reader when it came in.
            spec: try ScheduleSpec(json: try JSONParser.parse(try row.decode(RawJSON.self, at: 2).bytes)),
            createdAt: try row.decode(at: 4)
        )
        version = try row.decode(at: 3)
        pausedAt = try row.decode(at: 5)
        nextRunAt = try row.decode(at: 6)
        lastRunAt = try row.decode(at: 7)
        lastJob = try row.decode(at: 8)
        if let message = try row.decode(String?.self, at: 9) {
            lastError = Failure(at: try row.decode(at: 10), message: message)
        }
        runs = try row.decode(at: 11)
    }
}
