import FetchJobs
import Synchronization

/// The view of one client that follows a job; it misses no attempt, even a short one.
package final class JobFollower: Sendable {
    let id: Job.ID
    private let tenant: Tenant.ID
    private let attempts = Mutex<[LiveJob]>([])

    init(id: Job.ID, tenant: Tenant.ID) {
        self.id = id
        self.tenant = tenant
    }

    func add(_ live: LiveJob) {
        guard live.tenant == tenant else { return }
        live.noteFollower()
        attempts.withLock { $0.append(live) }
    }

    /// The attempts that may have something new, one after the other; attempts that are over come for the last time.
    package func news() -> [LiveJob] {
        attempts.withLock { attempts in
            defer { attempts.removeAll { $0.bodyState.isOver } }
            return attempts
        }
    }
}
