package import FetchJobs
import Synchronization

/// Tells those who wait in this process that a job has reached its final state.
///
/// A wait begins before the job is stored, so that a job that finishes at once is not missed. Jobs that finish on
/// another node are not heard of here: a waiter looks into the store now and then as well.
package final class CompletionWaiters: Sendable {
    private let waiters = Mutex<[Job.ID: [CompletionWaiter]]>([:])

    package init() {}

    /// Begins to listen for a job's end; ``end(_:)`` is to follow.
    package func wait(for id: Job.ID) -> CompletionWaiter {
        let wait = CompletionWaiter(for: id)
        waiters.withLock { $0[id, default: []].append(wait) }
        return wait
    }

    package func end(_ wait: CompletionWaiter) {
        waiters.withLock { waiters in
            waiters[wait.id]?.removeAll { $0 === wait }
            if waiters[wait.id]?.isEmpty == true { waiters[wait.id] = nil }
        }
    }

    /// - Parameter job: A job as it is stored now; nil when that is to be looked up.
    package func finish(_ ids: some Sequence<Job.ID>, as job: (Job.ID) -> Job? = { _ in nil }) {
        let ended = waiters.withLock { waiters in
            waiters.isEmpty ? [] : ids.flatMap { waiters[$0] ?? [] }
        }
        for wait in ended { wait.end(with: job(wait.id)) }
    }
}

/// One caller's wait for the end of a job.
package final class CompletionWaiter: Sendable {
    package let id: Job.ID
    /// Signalled when the job has ended here.
    package let condition = Condition()
    private let job = Mutex<Job?>(nil)

    init(for id: Job.ID) { self.id = id }

    /// The job in its final state, when that need not be looked up.
    package var finalJob: Job? { job.withLock(\.self) }

    fileprivate func end(with final: Job?) {
        job.withLock { $0 = final }
        condition.signal()
    }
}
