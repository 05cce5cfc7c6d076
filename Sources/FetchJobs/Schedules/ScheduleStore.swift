/// The schedules, as those see them who make and query them.
package protocol ScheduleStore: Sendable {
    /// Stores a new schedule.
    ///
    /// - Returns: nil when the tenant has ``Schedule/maximumCount`` of them; those that are made at the same time may be
    ///   a few more.
    func create(_ schedule: Schedule, _ idempotency: Idempotency?) async throws(StoreError) -> Creation<Schedule>?

    /// The schedule of this id, or nil when the tenant has no such schedule.
    func schedule(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Schedule?

    /// The newest first.
    ///
    /// - Parameter schedule: The last one of the page before; nil for the first page.
    func schedules(
        of tenant: Tenant.ID, after schedule: Schedule.ID?, limit: Int
    ) async throws(StoreError) -> [Schedule]

    /// Stores a client's change of a schedule: its spec, and whether it is paused.
    ///
    /// - Returns: The schedule as it is now; nil when it was changed since it was read, or removed.
    func update(_ schedule: Schedule) async throws(StoreError) -> Schedule?

    /// Removes a schedule; its jobs stay. False when the tenant has no such schedule.
    func remove(_ id: Schedule.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool

    /// Stores a job that a client wants of a schedule besides those of its times.
    func run(_ schedule: Schedule, _ job: NewJob) async throws(StoreError) -> Enqueued
}

/// The queue of the scheduler.
package protocol ScheduleQueue: Sendable {
    /// Schedules whose time has come, and how long it is until that of the next one.
    ///
    /// Tenants take turns, so that those of one, however many, hold up no other's.
    func due(limit: Int) async throws(StoreError) -> DueSchedules

    /// A due schedule as it is now; nil when its time has not come by `now`, since another node was first, or when it
    /// cannot be read and rests from now on.
    func schedule(_ item: DueSchedules.Item, dueBy now: Timestamp) async throws(StoreError) -> DueSchedule?

    /// Stores the jobs of a schedule's times and moves it on to its next time, both or neither.
    ///
    /// Whoever looks at the same time is too late: one of them does it.
    ///
    /// - Parameters:
    ///   - jobs: None when the times are not to have any.
    ///   - failure: Why they cannot have any.
    /// - Returns: Whether it was done here.
    func fire(
        _ schedule: Schedule, _ jobs: [NewJob], next: Timestamp?, failure: Schedule.Failure?
    ) async throws(StoreError) -> Bool
}

/// The due schedules at one time.
package struct DueSchedules: Sendable {
    /// A schedule whose spec is read when its jobs are made: all specs at once would take a lot of memory.
    package struct Item: Sendable, Equatable {
        package let tenant: Tenant.ID
        package let id: Schedule.ID

        package init(tenant: Tenant.ID, id: Schedule.ID) {
            self.tenant = tenant
            self.id = id
        }
    }

    package let items: [Item]
    /// The present time, by the clock of the schedules.
    package let now: Timestamp
    /// Until the next time of one that is not among them; nil when there is none.
    package let wait: Duration?

    package init(items: [Item], now: Timestamp, wait: Duration?) {
        self.items = items
        self.now = now
        self.wait = wait
    }
}

/// A schedule whose time has come.
package struct DueSchedule: Sendable {
    package let schedule: Schedule
    /// The job that was made last is not final.
    package let isBusy: Bool

    package init(_ schedule: Schedule, isBusy: Bool) {
        self.schedule = schedule
        self.isBusy = isBusy
    }
}
