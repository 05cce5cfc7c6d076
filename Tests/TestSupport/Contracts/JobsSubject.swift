package import FetchJobs

/// A fresh store of jobs, and the queues of two nodes over it, for contracts about jobs.
package struct JobsSubject: Sendable {
    package let store: any JobStore
    package let queues: [any WorkQueue]
    /// Lets the lease of a node run out.
    package let lose: @Sendable (Int) async throws -> Void
    /// Moves the times of jobs into the past.
    package let letPass: @Sendable (Duration) async throws -> Void
    package let tenant = Tenant.ID(rawValue: 1)
    /// One that has nothing.
    package let other = Tenant.ID(rawValue: 2)

    package init(
        store: any JobStore, queues: [any WorkQueue], lose: @escaping @Sendable (Int) async throws -> Void,
        letPass: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.store = store
        self.queues = queues
        self.lose = lose
        self.letPass = letPass
    }

    /// The jobs of a fresh store in memory.
    package static func memory(_ store: MemoryJobStore = MemoryJobStore()) -> JobsSubject {
        let queues = [MemoryWorkQueue(store), MemoryWorkQueue(store)]
        return JobsSubject(
            store: store, queues: queues, lose: { queues[$0].lose() }, letPass: { queues[0].letPass($0) })
    }

    @discardableResult
    func enqueue(_ more: String..., method: String = "GET") async throws -> [Job.ID] {
        let jobs = try more.map { try NewJob.make(method: method, more: $0) }
        _ = try await store.enqueue(jobs)
        return jobs.map(\.id)
    }

    /// Claims until nothing is left to be looked at.
    func claim(_ node: Int = 0, limit: Int = 100, room: ClaimRoom = ClaimRoom()) async throws -> [ClaimedJob] {
        var jobs: [ClaimedJob] = []
        while true {
            let claim = try await queues[node].claim(upTo: limit - jobs.count, room: room)
            jobs += claim.jobs
            guard let wait = claim.nextScan, jobs.count < limit else { return jobs }
            try await Task.sleep(for: wait)
        }
    }

    /// Claims so many jobs, and stores an outcome of each.
    func run(_ outcomes: JobOutcome...) async throws {
        for (job, outcome) in zip(try await claim(limit: outcomes.count), outcomes) {
            _ = try await queues[0].settle(job, outcome)
        }
    }

    func job(_ id: Job.ID) async throws -> Job? { try await store.job(id, of: tenant) }

    func state(_ id: Job.ID) async throws -> JobState? { try await job(id)?.state }

    /// Has a job lost with its node so often.
    func lose(_ job: Job.ID, times: Int) async throws {
        for _ in 0..<times {
            _ = try await queues[1].heartbeat()
            _ = try await claim(1)
            try await lose(1)
            _ = try await queues[0].rescue()
        }
    }
}
