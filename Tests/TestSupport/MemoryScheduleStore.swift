package import FetchJobs
import Synchronization

/// The schedules of a test, in memory: the second form of ``ScheduleStore``.
///
/// Nothing makes their jobs but ``run(_:_:)``.
package final class MemoryScheduleStore: ScheduleStore {
    private struct Stored {
        var schedule: Schedule
        let idempotency: Idempotency?
    }

    private let jobs: any JobStore
    private let stored = Mutex<[Stored]>([])

    /// - Parameter jobs: Where jobs are stored.
    package init(jobs: any JobStore) { self.jobs = jobs }

    package func create(
        _ schedule: Schedule, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<Schedule> {
        stored.withLock { stored in
            if let idempotency,
                let first = stored.first(where: {
                    $0.idempotency?.key == idempotency.key && $0.schedule.tenant == schedule.tenant
                })
            {
                return first.idempotency == idempotency ? .replayed(first.schedule) : .conflict
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
                schedule.lastRunAt = .now
                schedule.runs += 1
                return true
            }
        }
        return enqueued
    }
}
