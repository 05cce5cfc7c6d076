package import FetchJobs

/// The contract of every form of ``FiguresStore`` about jobs.
package enum FiguresStoreContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any FiguresStore

        package init(jobs: JobsSubject, store: any FiguresStore) {
            self.jobs = jobs
            self.store = store
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("jobs that are not final are counted by their state, and those that ended by their time") { subject in
            let ids = try await subject.jobs.enqueue("", "", "", #", "runAt": "2100-01-01T00:00:00Z""#)
            try await subject.jobs.run(.make(), .make(.failed))
            let figures = try await subject.store.figures(of: subject.jobs.tenant)
            let ended = figures.hours.reduce(into: [JobState: Int64]()) { $0.merge($1.jobs) { $0 + $1 } }
            let other = try await subject.store.figures(of: subject.jobs.other)
            return compare("jobs", ids.count, 4) + compare("queued", figures.current[.queued], 1)
                + compare("scheduled", figures.current[.scheduled], 1)
                + compare("running", figures.current[.running], 0)
                + compare("waits", figures.oldestQueuedAt != nil, true)
                + compare("ended", ended, [.succeeded: 1, .failed: 1])
                + compare("in this hour", figures.minutes.reduce(0) { $0 + $1.count }, 2)
                + compare("another's", other.current[.queued], 0) + compare("another's ends", other.hours, [])
        },
        Clause("jobs that run, are held and are suspended are told apart") { subject in
            let ids = try await subject.jobs.enqueue("", "", #", "suspended": true"#)
            _ = try await subject.jobs.claim(limit: 1)
            let current = try await subject.store.figures(of: subject.jobs.tenant).current
            return compare("jobs", ids.count, 3) + compare("running", current[.running], 1)
                + compare("queued", current[.queued], 1) + compare("suspended", current[.suspended], 1)
        },
        Clause("the sample has the jobs that ended, the newest first, with host, flow, status and error") { subject in
            let ids = try await subject.jobs.enqueue(#", "flow": {"key": "mail"}"#, "", "")
            var refused = JobOutcome.make()
            refused.status = 503
            try await subject.jobs.run(refused, .make(.failed))
            let sample = try await subject.store.sample(of: subject.jobs.tenant, withFlows: true)
            let other = try await subject.store.sample(of: subject.jobs.other, withFlows: true)
            let plain = try await subject.store.sample(of: subject.jobs.tenant, withFlows: false)
            return compare("jobs", sample.map(\.id), [ids[1], ids[0]])
                + compare("states", sample.map(\.state), [.failed, .succeeded])
                + compare("hosts", Set(sample.map(\.host)), ["origin.example"])
                + compare("flows", sample.map(\.flow), [nil, "mail"]) + compare("none", plain.map(\.flow), [nil, nil])
                + compare("error", sample.first?.errorName != nil, true)
                + compare("status", sample.last?.status, 503) + compare("another's", other, [])
        },
    ]
}
