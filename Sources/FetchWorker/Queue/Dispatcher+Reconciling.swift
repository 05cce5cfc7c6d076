import FetchJobs
import FetchRuntime
import Logging
import Synchronization

// Statements whose answer was lost: they have taken effect, and this node does not know it.

extension Dispatcher {
    /// Gives jobs back to the queue that this node has and does not run.
    func reconcile() async {
        guard intake.hasUncertainCommits else {
            return unsent.withLock { $0.removeAll() }
        }
        do throws(StoreError) {
            let unsent = unsent.withLock { $0 }
            let count = try await queue.reconcile(except: running.ids, unsent: unsent)
            guard count > 0 else { return }
            logger.warning("jobs rescued that were claimed unnoticed", metadata: ["jobs.count": "\(count)"])
            intake.wake()
            courier?.notify()
            completionNotifier?.notify()
        } catch {
            logger.warning("unnoticed claims were not looked for", metadata: ["error": "\(error)"])
        }
    }
}
