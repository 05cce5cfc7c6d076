import Synchronization

/// Tells those who wait in this process that a job has reached its final state.
///
/// A wait is registered before the job is stored, so that a job that finishes at once is not missed. Jobs that finish
/// on another node are not heard of here: a waiter looks into the store now and then as well.
package final class FinishedJobs: Sendable {
    private struct Waiting {
        var isFinished = false
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let waiting = Mutex<[Job.ID: Waiting]>([:])

    package init() {}

    package func register(_ id: Job.ID) {
        waiting.withLock { $0[id] = Waiting() }
    }

    package func unregister(_ id: Job.ID) {
        waiting.withLock { $0.removeValue(forKey: id) }?.continuation?.resume()
    }

    /// Returns when the registered job has finished here, or when the caller is cancelled.
    package func wait(for id: Job.ID) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = waiting.withLock { waiting in
                    guard let entry = waiting[id], !entry.isFinished, !Task.isCancelled else { return true }
                    waiting[id]?.continuation = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            waiting.withLock { $0[id]?.continuation.take() }?.resume()
        }
    }

    package func finish(_ ids: some Sequence<Job.ID>) {
        let continuations = waiting.withLock { waiting in
            guard !waiting.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            return ids.compactMap { id in
                waiting[id]?.isFinished = true
                return waiting[id]?.continuation.take()
            }
        }
        continuations.forEach { $0.resume() }
    }
}
