package import FetchJobs

/// The contract of every form of ``ScheduleStore``.
package enum ScheduleStoreContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any ScheduleStore

        package init(jobs: JobsSubject, store: any ScheduleStore) {
            self.jobs = jobs
            self.store = store
        }

        fileprivate func new(interval: Int = 60) throws -> Schedule {
            let text = #"{"interval": \#(interval), "job": {"request": "https://origin.example/a"}}"#
            return Schedule(tenant: jobs.tenant, spec: try ScheduleSpec(json: JSONParser.parse(text.utf8)))
        }

        fileprivate func create() async throws -> Schedule {
            let schedule = try new()
            _ = try await store.create(schedule, nil)
            return schedule
        }

        fileprivate func find(_ id: Schedule.ID) async throws -> Schedule? {
            try await store.schedule(id, of: jobs.tenant)
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("a schedule is stored as it was asked for, and is its tenant's alone") { subject in
            let (schedule, other) = (try await subject.create(), subject.jobs.other)
            let found = try await subject.find(schedule.id)
            return compare("spec", found?.spec, schedule.spec) + compare("next", found?.nextRunAt, schedule.nextRunAt)
                + compare("runs", found?.runs, 0)
                + compare("another's", try await subject.store.schedule(schedule.id, of: other) == nil, true)
                + compare("list", try await subject.store.schedules(of: other, after: nil, limit: 9).map(\.id), [])
                + compare("removed", try await subject.store.remove(schedule.id, of: other), false)
        },
        Clause("pages of a list meet, the newest first") { subject in
            var ids: [Schedule.ID] = []
            for _ in 0..<3 { ids.append(try await subject.create().id) }
            let (tenant, store) = (subject.jobs.tenant, subject.store)
            let first = try await store.schedules(of: tenant, after: nil, limit: 2).map(\.id)
            let rest = try await store.schedules(of: tenant, after: first.last, limit: 2).map(\.id)
            return compare("first", first, [ids[2], ids[1]]) + compare("rest", rest, [ids[0]])
        },
        Clause("a key makes one schedule") { subject in
            let key = { Idempotency(key: "k", fingerprint: SHA256Digest(of: [$0])) }
            guard case .created(let first) = try await subject.store.create(subject.new(), key(1)),
                case .replayed(let again) = try await subject.store.create(subject.new(), key(1)),
                case .conflict = try await subject.store.create(subject.new(), key(2))
            else { return ["the key did not count"] }
            return compare("replayed", again.id, first.id)
        },
        Clause("a tenant has so many schedules at most, and a repeat with a key is answered as ever") { subject in
            let key = Idempotency(key: "k", fingerprint: SHA256Digest(of: [1]))
            let first = try subject.new()
            _ = try await subject.store.create(first, key)
            for _ in 1..<Schedule.maximumCount { _ = try await subject.create() }
            let late = try subject.new()
            let isRefused = try await subject.store.create(late, nil) == nil
            let found = try await subject.find(late.id)
            guard case .replayed(let again) = try await subject.store.create(subject.new(), key) else {
                return ["the key did not count"]
            }
            let foreign = Schedule(tenant: subject.jobs.other, spec: first.spec)
            let isFree = try await subject.store.create(foreign, nil) != nil
            _ = try await subject.store.remove(first.id, of: subject.jobs.tenant)
            return compare("refused", isRefused, true) + compare("found", found?.id, nil)
                + compare("again", again.id, first.id) + compare("another's", isFree, true)
                + compare("then", try await subject.store.create(late, nil) != nil, true)
        },
        Clause("a schedule is changed from what was read, and not over another's change") { subject in
            var schedule = try await subject.create()
            schedule.setPaused(true, at: .now)
            let changed = try await subject.store.update(schedule)
            let late = try await subject.store.update(schedule)
            let found = try await subject.find(schedule.id)
            return compare("version", changed?.version, 2) + compare("late", late == nil, true)
                + compare("paused", found?.pausedAt != nil, true) + compare("next", found?.nextRunAt, nil)
        },
        Clause("a job of a schedule is stored besides its times, and noted there") { subject in
            let schedule = try await subject.create()
            let job = schedule.job(at: nil)
            let enqueued = try await subject.store.run(schedule, job)
            let found = try await subject.find(schedule.id)
            return compare("enqueued", enqueued, .accepted(job.id)) + compare("last", found?.lastJob, job.id)
                + compare("runs", found?.runs, 1) + compare("next", found?.nextRunAt, schedule.nextRunAt)
                + compare("job", try await subject.jobs.job(job.id)?.storedSpec?.schedule, schedule.id)
        },
        Clause("what its runs have left outlives a change by somebody who had not heard of them") { subject in
            var schedule = try await subject.create()
            let job = schedule.job(at: nil)
            _ = try await subject.store.run(schedule, job)
            schedule.change(to: try subject.new(interval: 3600).spec, at: .now)
            let changed = try await subject.store.update(schedule)
            return compare("spec", changed?.spec, schedule.spec) + compare("runs", changed?.runs, 1)
                + compare("last", changed?.lastJob, job.id)
        },
        Clause("a schedule is removed once, and its jobs stay") { subject in
            let schedule = try await subject.create()
            let job = schedule.job(at: nil)
            _ = try await subject.store.run(schedule, job)
            let tenant = subject.jobs.tenant
            let removed = [
                try await subject.store.remove(schedule.id, of: tenant),
                try await subject.store.remove(schedule.id, of: tenant),
            ]
            return compare("removed", removed, [true, false])
                + compare("changed", try await subject.store.update(schedule) == nil, true)
                + compare("job", try await subject.jobs.state(job.id), .queued)
        },
    ]
}
