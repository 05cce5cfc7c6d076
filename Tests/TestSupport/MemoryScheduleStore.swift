package import FetchJobs
import Synchronization

/// The schedules of a test, in memory: the second form of ``ScheduleStore`` and of ``ScheduleQueue``.
package final class MemoryScheduleStore: ScheduleStore {
    private struct Stored {
        var schedule: Schedule
        let idempotency: Idempotency?
    }

    private let jobs: any JobStore
    private let now: @Sendable () -> Timestamp
    private let stored = Mutex<[Stored]>([])

    /// - Parameters:
    ///   - jobs: Where jobs are stored.
    ///   - now: The clock of the schedules.
    package init(jobs: any JobStore, now: @escaping @Sendable () -> Timestamp = { .now }) {
        self.jobs = jobs
        self.now = now
    }

    package func create(
        _ schedule: Schedule, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<Schedule>? {
        stored.withLock { stored in
            if let idempotency,
                let first = stored.first(where: {
                    $0.idempotency?.key == idempotency.key && $0.schedule.tenant == schedule.tenant
                })
            {
                return first.idempotency == idempotency ? .replayed(first.schedule) : .conflict
            }
            guard stored.count(where: { $0.schedule.tenant == schedule.tenant }) < Schedule.maximumCount else {
                return nil
            }
            stored.append(Stored(schedule: schedule, idempotency: idempotency))
            return .created(schedule)
        }
    }

    package func schedule(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Schedule? {
        stored.withLock { $0.first { $0.schedule.id == id && $0.schedule.tenant == tenant }?.schedule }
    }

    package func schedules(
        of tenant: Tenant.ID, after schedule: Schedule.ID?, limit: Int
    ) async throws(StoreError) -> [Schedule] {
        stored.withLock { stored in
            stored.map(\.schedule)
                .filter { found in found.tenant == tenant && schedule.map { found.id < $0 } ?? true }
                .sorted { $0.id > $1.id }
                .prefix(limit).map(\.self)
        }
    }

    package func update(_ schedule: Schedule) async throws(StoreError) -> Schedule? {
        change(schedule.id, of: schedule.tenant) { found in
            guard found.version == schedule.version else { return false }
            found.spec = schedule.spec
            (found.pausedAt, found.nextRunAt) = (schedule.pausedAt, schedule.nextRunAt)
            found.version += 1
            return true
        }
    }

    private func change(
        _ id: Schedule.ID, of tenant: Tenant.ID, _ change: (inout Schedule) -> Bool
    ) -> Schedule? {
        stored.withLock { stored in
            let index = stored.firstIndex { $0.schedule.id == id && $0.schedule.tenant == tenant }
            guard let index, change(&stored[index].schedule) else { return nil }
            return stored[index].schedule
        }
    }

    package func remove(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        stored.withLock { stored in
            let count = stored.count
            stored.removeAll { $0.schedule.id == id && $0.schedule.tenant == tenant }
            return stored.count < count
        }
    }

    package func run(_ schedule: Schedule, _ job: NewJob) async throws(StoreError) -> Enqueued {
        guard let enqueued = try await jobs.enqueue([job]).first else { return .conflict }
        if case .accepted(let id) = enqueued {
            _ = change(schedule.id, of: schedule.tenant) { schedule in
                schedule.lastJob = id
                schedule.lastError = nil
                schedule.lastRunAt = now()
                schedule.runs += 1
                return true
            }
        }
        return enqueued
    }
}

extension MemoryScheduleStore: ScheduleQueue {
    package func due(limit: Int) async throws(StoreError) -> DueSchedules {
        let now = now()
        let all = stored.withLock { $0.map(\.schedule) }.filter { $0.nextRunAt != nil }
        let due = all.filter { $0.nextRunAt.map { $0 <= now } ?? false }
            .sorted { ($0.nextRunAt ?? now) < ($1.nextRunAt ?? now) }
        var turns: [Tenant.ID: Int] = [:]
        let numbered = due.enumerated().map { place, schedule in
            turns[schedule.tenant, default: 0] += 1
            return (turn: turns[schedule.tenant, default: 0], place: place, schedule: schedule)
        }
        let items = numbered.sorted { ($0.turn, $0.place) < ($1.turn, $1.place) }.prefix(limit)
            .map { DueSchedules.Item(tenant: $0.schedule.tenant, id: $0.schedule.id) }
        let next = all.compactMap(\.nextRunAt).filter { $0 > now }.min()
        return DueSchedules(
            items: items, now: now, wait: next.map { .microseconds($0.microseconds - now.microseconds) })
    }

    package func schedule(
        _ item: DueSchedules.Item, dueBy now: Timestamp
    ) async throws(StoreError) -> DueSchedule? {
        guard let schedule = try await schedule(item.id, of: item.tenant), let time = schedule.nextRunAt, time <= now
        else { return nil }
        var last: Job?
        if let id = schedule.lastJob { last = try await jobs.job(id, of: schedule.tenant) }
        return DueSchedule(schedule, isBusy: last.map { !$0.state.isFinal } ?? false)
    }

    package func fire(
        _ schedule: Schedule, _ jobs: [NewJob], next: Timestamp?, failure: Schedule.Failure?
    ) async throws(StoreError) -> Bool {
        var before: Schedule?
        let changed = change(schedule.id, of: schedule.tenant) { found in
            guard found.version == schedule.version, found.nextRunAt == schedule.nextRunAt, found.runs == schedule.runs
            else { return false }
            before = found
            found.nextRunAt = next
            found.runs += Int64(jobs.count)
            if let last = jobs.last { (found.lastJob, found.lastRunAt) = (last.id, last.spec.scheduledAt) }
            if !jobs.isEmpty || failure != nil { found.lastError = failure }
            return true
        }
        guard changed != nil, !jobs.isEmpty else { return changed != nil }
        if case .accepted? = try await self.jobs.enqueue(jobs).last { return true }
        _ = change(schedule.id, of: schedule.tenant) { found in
            found = before ?? found
            return true
        }
        return false
    }
}
