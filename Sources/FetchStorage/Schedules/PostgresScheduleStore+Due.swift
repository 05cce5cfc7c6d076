package import FetchJobs
import Postgres

extension PostgresScheduleStore: ScheduleQueue {
    package func due(limit: Int) async throws(StoreError) -> DueSchedules {
        try await StoreError.wrap {
            // First, so that a schedule that comes due meanwhile is waited for.
            let clock = try await client.query(
                """
                -- schedules.next
                SELECT now(), (SELECT min(next_run_at) FROM schedules WHERE next_run_at > now()) - now()
                """
            )
            guard let clock = clock.first else { throw StoreError(.failed, "The database tells no time.") }
            let now = try clock.decode(Timestamp.self, at: 0)
            let rows = try await client.query(
                """
                -- schedules.due
                SELECT tenant_id, id
                FROM (
                    -- Numbers all that are due; one tenant has no more of them than it may have schedules.
                    SELECT tenant_id, id, next_run_at,
                        row_number() OVER (PARTITION BY tenant_id ORDER BY next_run_at) AS turn
                    FROM schedules
                    WHERE next_run_at <= \(now)
                ) AS s
                ORDER BY turn, next_run_at
                LIMIT \(limit)
                """
            )
            let items = try rows.map {
                DueSchedules.Item(tenant: try $0.decode(at: 0), id: try $0.decode(at: 1))
            }
            return DueSchedules(items: items, now: now, wait: try clock.decode(at: 1))
        }
    }

    package func schedule(
        _ item: DueSchedules.Item, dueBy now: Timestamp
    ) async throws(StoreError) -> DueSchedule? {
        try await StoreError.wrap {
            let rows = try await client.of(item.tenant).query(
                """
                -- schedules.read
                SELECT \(Schedule.columns),
                    EXISTS (SELECT FROM queue q WHERE q.tenant_id = s.tenant_id AND q.job_id = s.last_job_id)
                FROM schedules s
                WHERE s.tenant_id = \(item.tenant) AND s.id = \(item.id) AND s.next_run_at <= \(now)
                """
            )
            guard let row = rows.first else { return nil }
            do {
                let isBusy = try row.decode(Bool.self, at: Schedule.columnCount)
                return DueSchedule(try await Schedule(row: row, keys), isBusy: isBusy)
            } catch let error as InvalidInput {
                try await stop(item, error)
                return nil
            }
        }
    }

    /// Lets a schedule rest that was stored under rules which are no longer ours, or whose secrets cannot be opened, so
    /// that it holds up no others.
    private func stop(_ item: DueSchedules.Item, _ error: InvalidInput) async throws {
        let message = error.violations.first.map { "\($0.pointer) \($0.message)" } ?? "It cannot be read."
        try await client.of(item.tenant).query(
            """
            -- schedules.stop
            UPDATE schedules
            SET next_run_at = NULL, last_error = \(message), last_error_at = now()
            WHERE tenant_id = \(item.tenant) AND id = \(item.id)
            """
        )
    }

    package func fire(
        _ schedule: Schedule, _ jobs: [NewJob], next: Timestamp?, failure: Schedule.Failure?
    ) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let change = Self.change(schedule, jobs, next: next, failure: failure)
            guard let last = jobs.last else { return try await !client.query(change).isEmpty }
            switch try await self.jobs.enqueue(jobs, with: change).last {
            case .accepted: return true
            case .sessionInvalidated: try await note(last, of: schedule, count: jobs.count)
            case .queueFull(let quota):
                let message = "There is no room for \(jobs.count) jobs: at most \(quota) may wait."
                let failure = Schedule.Failure(at: last.spec.scheduledAt ?? .now, message: message)
                try await client.query(Self.change(schedule, [], next: next, failure: failure))
            default: break
            }
            return false
        }
    }

    /// Moves a schedule on to its next time.
    private static func change(
        _ schedule: Schedule, _ jobs: [NewJob], next: Timestamp?, failure: Schedule.Failure?
    ) -> Query {
        let isMissed = jobs.isEmpty && failure == nil
        // Nodes that read it at the same time know the same next time: after the first of them it has another one.
        return """
            -- schedules.fire
            UPDATE schedules
            SET next_run_at = \(next), last_run_at = coalesce(\(jobs.last?.spec.scheduledAt), last_run_at),
                last_job_id = coalesce(\(jobs.last?.id), last_job_id), runs = runs + \(Int64(jobs.count)),
                last_error = CASE WHEN \(isMissed) THEN last_error ELSE \(failure?.message) END,
                last_error_at = CASE WHEN \(isMissed) THEN last_error_at ELSE \(failure?.at) END
            WHERE tenant_id = \(schedule.tenant) AND id = \(schedule.id) AND version = \(schedule.version)
                AND next_run_at = \(schedule.nextRunAt) AND runs = \(schedule.runs)
            RETURNING id
            """
    }

    /// Says that the jobs were not made, if it was here that they were to be: their session has ended just now.
    private func note(_ last: NewJob, of schedule: Schedule, count: Int) async throws {
        try await client.of(schedule.tenant).query(
            """
            -- schedules.note
            UPDATE schedules
            SET last_job_id = \(schedule.lastJob), last_run_at = \(schedule.lastRunAt), runs = runs - \(Int64(count)),
                last_error = '/job/session is invalidated', last_error_at = now()
            WHERE tenant_id = \(schedule.tenant) AND id = \(schedule.id) AND last_job_id = \(last.id)
            """
        )
    }
}
