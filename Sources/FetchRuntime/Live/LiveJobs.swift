package import FetchJobs
import Synchronization

/// The jobs that run in this process, for those who follow them.
package final class LiveJobs: Sendable {
    private struct State {
        var jobs: [Job.ID: LiveJob] = [:]
        var followers: [Job.ID: [JobFollower]] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func add(_ job: ClaimedJob) -> LiveJob {
        let live = LiveJob(job.id, of: job.tenant, attempt: Int(job.claim), urls: job.spec.request.urlForm)
        state.withLock { state in
            state.jobs[job.id] = live
            for follower in state.followers[job.id] ?? [] { follower.add(live) }
        }
        return live
    }

    /// Removes the job; its followers learn that it is over.
    package func remove(_ live: LiveJob) {
        state.withLock { state in
            // A job that was lost for a while may be here again.
            if state.jobs[live.job] === live { state.jobs[live.job] = nil }
        }
        live.end()
    }

    /// The job when it runs here and is the tenant's.
    package func job(_ id: Job.ID, of tenant: Tenant.ID) -> LiveJob? {
        state.withLock { $0.jobs[id] }.flatMap { $0.tenant == tenant ? $0 : nil }
    }

    /// Gathers every attempt that runs here from now on, the one under way included, until ``leave(_:)``.
    package func follow(_ id: Job.ID, of tenant: Tenant.ID) -> JobFollower {
        let follower = JobFollower(id: id, tenant: tenant)
        state.withLock { state in
            state.followers[id, default: []].append(follower)
            if let live = state.jobs[id] { follower.add(live) }
        }
        return follower
    }

    package func leave(_ follower: JobFollower) {
        state.withLock { state in
            state.followers[follower.id]?.removeAll { $0 === follower }
            if state.followers[follower.id]?.isEmpty == true { state.followers[follower.id] = nil }
        }
    }
}
