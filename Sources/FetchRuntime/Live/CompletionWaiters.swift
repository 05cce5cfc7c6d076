package import FetchJobs
import Synchronization

/// Wakes the requests of this process that wait for the final state of a job.
///
/// A wait begins before the job is stored, so that a job that finishes at once is not missed. Jobs that finish on
/// another node wake nothing here, so a waiter reads the store now and then as well.
package final class CompletionWaiters: Sendable {
    private let waiters = Mutex<[Job.ID: [CompletionWaiter]]>([:])

    package init() {}

    /// Begins to wait for the end of a job; the caller must call ``end(_:)`` afterwards.
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

    /// - Parameter job: A job as it is stored now; nil when it must be read.
    package func finish(_ ids: some Sequence<Job.ID>, as job: (Job.ID) -> Job? = { _ in nil }) {
        let ended = waiters.withLock { waiters in
            waiters.isEmpty ? [] : ids.flatMap { waiters[$0] ?? [] }
        }
        for wait in ended { wait.end(with: job(wait.id)) }
    }
}

/// The wait of one caller for the end of a job.
package final class CompletionWaiter: Sendable {
    package let id: Job.ID
    /// Signalled when the job has ended here.
    package let condition = Condition()
    private let job = Mutex<Job?>(nil)

    init(for id: Job.ID) { self.id = id }

    /// The job in its final state; nil when it must be read from the store.
    package var finalJob: Job? { job.withLock(\.self) }

    fileprivate func end(with final: Job?) {
        job.withLock { $0 = final }
        condition.signal()
    }
}
