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
        fileprivate func create(ago: Int) async throws -> Schedule {
            let text = #"{"interval": 60, "job": {"request": "https://origin.example/a"}}"#
            let schedule = Schedule(
                tenant: jobs.tenant, spec: try ScheduleSpec(json: JSONParser.parse(text.utf8)),
                createdAt: .now.advanced(by: .seconds(-ago)))
            _ = try await store.create(schedule, nil)
            return schedule
        }

        /// The schedule that is due, as it is stored.
        fileprivate func due() async throws -> Schedule {
            guard let schedule = try await queue.due(limit: 9).items.first?.schedule else { throw NothingIsDue() }
            return schedule
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
            return compare("due", due.items.map(\.schedule.id), [earlier.id, later.id])
                + compare("busy", due.items.map(\.isBusy), [false, false])
                + compare("limit", try await subject.queue.due(limit: 1).items.map(\.schedule.id), [earlier.id])
                + compare("wait", wait > .zero && wait <= .seconds(31), true)
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
            let busy = try await subject.queue.due(limit: 9).items.map(\.isBusy)
            try await subject.jobs.run(.make())
            return compare("busy", busy, [true])
                + compare("then", try await subject.queue.due(limit: 9).items.map(\.isBusy), [false])
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
