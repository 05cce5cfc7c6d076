import Synchronization

/// The jobs that run in this process, for those who follow them.
package final class LiveJobs: Sendable {
    private let jobs = Mutex<[Job.ID: LiveJob]>([:])

    package init() {}

    package func add(_ job: ClaimedJob) -> LiveJob {
        let live = LiveJob(tenant: job.tenant, attempt: Int(job.claim))
        jobs.withLock { $0[job.id] = live }
        return live
    }

    /// Removes the job; whoever follows it learns that it is over.
    package func remove(_ id: Job.ID) {
        jobs.withLock { $0.removeValue(forKey: id) }?.end()
    }

    /// The job when it runs here and is the tenant's.
    package func job(_ id: Job.ID, of tenant: Tenant.ID) -> LiveJob? {
        jobs.withLock { $0[id] }.flatMap { $0.tenant == tenant ? $0 : nil }
    }
}
