package import FetchJobs

/// The contract of every form of ``ScheduleQueue``.
package enum ScheduleQueueContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any ScheduleStore
        let queue: any ScheduleQueue

        package init(jobs: JobsSubject, store: any ScheduleStore, queue: any ScheduleQueue) {
            self.jobs = jobs
            self.store = store
            self.queue = queue
        }

        /// A schedule of every minute whose first time is a minute after it was made.
        fileprivate func create(ago: Int, of tenant: Tenant.ID? = nil) async throws -> Schedule {
            let text = #"{"interval": 60, "job": {"request": "https://origin.example/a"}}"#
            let schedule = Schedule(
                tenant: tenant ?? jobs.tenant, spec: try ScheduleSpec(json: JSONParser.parse(text.utf8)),
                createdAt: .now.advanced(by: .seconds(-ago)))
            _ = try await store.create(schedule, nil)
            return schedule
        }

        /// The schedules that are due, as they are stored.
        fileprivate func allDue() async throws -> [DueSchedule] {
            let look = try await queue.due(limit: 9)
            var found: [DueSchedule] = []
            for item in look.items {
                if let schedule = try await queue.schedule(item, dueBy: look.now) { found.append(schedule) }
            }
            return found
        }

        fileprivate func due() async throws -> Schedule {
            guard let found = try await allDue().first else { throw NothingIsDue() }
            return found.schedule
        }

        fileprivate func find(_ id: Schedule.ID) async throws -> Schedule? {
            try await store.schedule(id, of: jobs.tenant)
        }

        fileprivate func jobs(of id: Schedule.ID) async throws -> [JobSummary] {
            var filter = JobFilter()
            filter.schedule = id
            return try await jobs.store.jobs(of: jobs.tenant, matching: filter, page: JobPage(limit: 9)).jobs
        }
    }

    private struct NothingIsDue: Error {}

    package static let clauses: [Clause<Subject>] = [
        Clause("schedules are due when their time has come, the earliest first, and the next time is told") { subject in
            let later = try await subject.create(ago: 90)
            let earlier = try await subject.create(ago: 300)
            _ = try await subject.create(ago: 30)
            let due = try await subject.queue.due(limit: 9)
            let wait = due.wait ?? .zero
            return compare("due", due.items.map(\.id), [earlier.id, later.id])
                + compare("busy", try await subject.allDue().map(\.isBusy), [false, false])
                + compare("limit", try await subject.queue.due(limit: 1).items.map(\.id), [earlier.id])
                + compare("wait", wait > .zero && wait <= .seconds(31), true)
        },
        Clause("tenants take turns, however many schedules of one are due") { subject in
            var ids: [Schedule.ID] = []
            for number in 0..<4 { ids.append(try await subject.create(ago: 400 - number).id) }
            let quiet = try await subject.create(ago: 90, of: subject.jobs.other)
            let due = try await subject.queue.due(limit: 3)
            return compare("due", due.items.map(\.id), [ids[0], quiet.id, ids[1]])
                + compare("tenant", due.items.map(\.tenant), [subject.jobs.tenant, quiet.tenant, subject.jobs.tenant])
        },
        Clause("a due schedule is read as it is then, and not once it has gone on") { subject in
            let id = try await subject.create(ago: 90).id
            let look = try await subject.queue.due(limit: 9)
            guard let item = look.items.first else { return ["nothing is due"] }
            let found = try await subject.queue.schedule(item, dueBy: look.now)
            let foreign = DueSchedules.Item(tenant: subject.jobs.other, id: id)
            let other = try await subject.queue.schedule(foreign, dueBy: look.now)
            let next = look.now.advanced(by: .seconds(60))
            _ = try await subject.queue.fire(subject.due(), [], next: next, failure: nil)
            return compare("found", found?.schedule.id, id) + compare("another's", other == nil, true)
                + compare("late", try await subject.queue.schedule(item, dueBy: look.now) == nil, true)
        },
        Clause("nothing is due, and nothing waited for, where there is no schedule") { subject in
            let due = try await subject.queue.due(limit: 9)
            return compare("due", due.items.count, 0) + compare("wait", due.wait, nil)
        },
        Clause("of those who look at the same time one makes the jobs, and the schedule goes on") { subject in
            let id = try await subject.create(ago: 90).id
            let looks = [try await subject.due(), try await subject.due()]
            let next = Timestamp.now.advanced(by: .seconds(60))
            var fired: [Bool] = []
            for look in looks {
                let job = look.job(at: look.nextRunAt)
                fired.append(try await subject.queue.fire(look, [job], next: next, failure: nil))
            }
            let (found, jobs) = (try await subject.find(id), try await subject.jobs(of: id))
            return compare("fired", fired, [true, false]) + compare("jobs", jobs.count, 1)
                + compare("runs", found?.runs, 1) + compare("next", found?.nextRunAt, next)
                + compare("last", found?.lastJob, jobs.first?.id)
                + compare("time", found?.lastRunAt, looks[0].nextRunAt)
                + compare("due", try await subject.queue.due(limit: 9).items.count, 0)
        },
        Clause("a schedule whose last job is not final is busy, and is not once that is") { subject in
            _ = try await subject.create(ago: 90)
            let look = try await subject.due()
            let past = Timestamp.now.advanced(by: .seconds(-1))
            _ = try await subject.queue.fire(look, [look.job(at: look.nextRunAt)], next: past, failure: nil)
            let busy = try await subject.allDue().map(\.isBusy)
            try await subject.jobs.run(.make())
            return compare("busy", busy, [true])
                + compare("then", try await subject.allDue().map(\.isBusy), [false])
        },
        Clause("why no job was made is told until one is") { subject in
            let id = try await subject.create(ago: 90).id
            let past = Timestamp.now.advanced(by: .seconds(-1))
            let failure = Schedule.Failure(at: past, message: "/job/session is gone")
            _ = try await subject.queue.fire(subject.due(), [], next: past, failure: failure)
            let failed = try await subject.find(id)
            let look = try await subject.due()
            _ = try await subject.queue.fire(look, [], next: past.advanced(by: .seconds(-1)), failure: nil)
            let skipped = try await subject.find(id)
            let again = try await subject.due()
            _ = try await subject.queue.fire(again, [again.job(at: past)], next: nil, failure: nil)
            let found = try await subject.find(id)
            return compare("failed", failed?.lastError, failure) + compare("runs", failed?.runs, 0)
                + compare("skipped", skipped?.lastError, failure) + compare("then", found?.lastError, nil)
                + compare("next", found?.nextRunAt, nil)
        },
        Clause("a schedule that its client has changed meanwhile makes no job") { subject in
            let id = try await subject.create(ago: 90).id
            let look = try await subject.due()
            var paused = look
            paused.setPaused(true, at: .now)
            _ = try await subject.store.update(paused)
            let fired = try await subject.queue.fire(look, [look.job(at: look.nextRunAt)], next: nil, failure: nil)
            return compare("fired", fired, false) + compare("jobs", try await subject.jobs(of: id).count, 0)
                + compare("due", try await subject.queue.due(limit: 9).items.count, 0)
        },
    ]
}
