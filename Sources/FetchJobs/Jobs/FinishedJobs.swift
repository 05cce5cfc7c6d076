import Synchronization

/// Tells those who wait in this process that a job has reached its final state.
///
/// A wait begins before the job is stored, so that a job that finishes at once is not missed. Jobs that finish on
/// another node are not heard of here: a waiter looks into the store now and then as well.
package final class FinishedJobs: Sendable {
    private let waits = Mutex<[Job.ID: [JobWait]]>([:])

    package init() {}

    /// Begins to listen for a job's end; ``end(_:)`` is to follow.
    package func wait(for id: Job.ID) -> JobWait {
        let wait = JobWait(for: id)
        waits.withLock { $0[id, default: []].append(wait) }
        return wait
    }

    package func end(_ wait: JobWait) {
        waits.withLock { waits in
            waits[wait.job]?.removeAll { $0 === wait }
            if waits[wait.job]?.isEmpty == true { waits[wait.job] = nil }
        }
    }

    package func finish(_ ids: some Sequence<Job.ID>) {
        let ended = waits.withLock { waits in
            waits.isEmpty ? [] : ids.flatMap { waits[$0] ?? [] }
        }
        for wait in ended { wait.wake() }
    }
}

/// One caller's wait for the end of a job.
package final class JobWait: Sendable {
    package let job: Job.ID
    private let signal = Signal()

    init(for job: Job.ID) { self.job = job }

    /// Has the caller look into the store: now, or as soon as it waits.
    package func wake() { signal.send() }

    /// Returns once it was woken, or when the caller is cancelled.
    package func isWoken() async { for await _ in signal.values { return } }
}
