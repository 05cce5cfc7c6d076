package import FetchJobs
package import Postgres

/// The schedules in PostgreSQL.
package struct PostgresScheduleStore: ScheduleStore {
    let client: Client
    let jobs: PostgresJobStore
    let keys: TenantKeys
    private let onChange: @Sendable () -> Void

    /// - Parameters:
    ///   - jobs: Stores the jobs that schedules make.
    ///   - keys: The keys that seal the secrets of those jobs.
    ///   - onChange: Is called when a schedule may have a next time that this node does not know.
    package init(
        client: Client, jobs: PostgresJobStore, keys: TenantKeys, onChange: @escaping @Sendable () -> Void = {}
    ) {
        self.client = client
        self.jobs = jobs
        self.keys = keys
        self.onChange = onChange
    }

    package func create(
        _ schedule: Schedule, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<Schedule>? {
        try await StoreError.wrap {
            let key = CreationKey(try await schedule.naming(idempotency, keys))
            guard try await hasRoom(of: schedule.tenant) else {
                // A repeated request is answered as ever.
                let earlier = try await key.createdBefore(
                    of: schedule.tenant, in: Self.table, Schedule.columns, client: client)
                guard let earlier else { return nil }
                return .replayed(try await Schedule(row: earlier, keys))
            }
            let creation = try await key.create(
                schedule.id, of: schedule.tenant, in: Self.table, Schedule.columns,
                by: """
                    INSERT INTO schedules AS s (tenant_id, id, spec, sealed_secrets, created_at, next_run_at)
                    SELECT \(schedule.tenant), \(schedule.id), \(RawJSON(schedule.spec.json)),
                        \(try await schedule.sealed(keys)), \(schedule.createdAt), \(schedule.nextRunAt)
                    """,
                client: client)
            if case .created = creation { onChange() }
            return try await creation.map { try await Schedule(row: $0, keys) }
        }
    }

    private static let table: (name: Query, alias: Query) = ("schedules", "s")

    private func hasRoom(of tenant: Tenant.ID) async throws -> Bool {
        let rows = try await client.of(tenant).query(
            """
            -- schedules.room
            SELECT count(*) < \(Int64(Schedule.maximumCount))
            FROM schedules
            WHERE tenant_id = \(tenant)
            """
        )
        return try rows.first?.decode(at: 0) ?? false
    }

    package func schedule(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Schedule? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- schedules.find
                SELECT \(Schedule.columns)
                FROM schedules s
                WHERE s.tenant_id = \(tenant) AND s.id = \(id)
                """
            )
            guard let row = rows.first else { return nil }
            return try await Schedule(row: row, keys)
        }
    }

    package func schedules(
        of tenant: Tenant.ID, after schedule: Schedule.ID?, limit: Int
    ) async throws(StoreError) -> [Schedule] {
        let start = schedule ?? Schedule.ID(UUIDv7(high: .max, low: .max))
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- schedules.list
                SELECT \(Schedule.columns)
                FROM schedules s
                WHERE s.tenant_id = \(tenant) AND s.id < \(start)
                ORDER BY s.id DESC
                LIMIT \(limit)
                """
            )
            var schedules: [Schedule] = []
            for row in rows { schedules.append(try await Schedule(row: row, keys)) }
            return schedules
        }
    }

    package func update(_ schedule: Schedule) async throws(StoreError) -> Schedule? {
        let changed = try await StoreError.wrap {
            let rows = try await client.of(schedule.tenant).query(
                """
                -- schedules.update
                WITH s AS (
                UPDATE schedules s
                SET spec = \(RawJSON(schedule.spec.json)), sealed_secrets = \(try await schedule.sealed(keys)),
                    version = s.version + 1, paused_at = \(schedule.pausedAt), next_run_at = \(schedule.nextRunAt)
                WHERE s.tenant_id = \(schedule.tenant) AND s.id = \(schedule.id) AND s.version = \(schedule.version)
                RETURNING *
                ), \(Query.audited(.changeSchedule, schedule.id.description, of: schedule.tenant, when: "s"))
                SELECT \(Schedule.columns) FROM s
                """
            )
            guard let row = rows.first else { return Schedule?.none }
            return try await Schedule(row: row, keys)
        }
        if changed != nil { onChange() }
        return changed
    }

    package func remove(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- schedules.remove
                WITH removed AS (
                    DELETE FROM schedules WHERE tenant_id = \(tenant) AND id = \(id) RETURNING id
                ), \(Query.audited(.removeSchedule, id.description, of: tenant, when: "removed"))
                SELECT 1 FROM removed
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
            try await client.of(schedule.tenant).query(
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
