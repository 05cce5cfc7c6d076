import FetchEngine
package import FetchJobs
import Logging
import Synchronization

// Statements whose answer was lost: what they did is done, and this node does not know it.

extension Dispatcher {
    /// How long a statement may go on whose answer nobody waits for any more.
    private static let doubtLifetime = Duration.seconds(60)

    package func giveUp(_ jobs: [NewJob]) {
        slots.release(jobs)
        if !jobs.isEmpty { doubt() }
    }

    /// The database may have given this node jobs, or left it some, that it does not know of.
    func doubt() { doubtUntil.withLock { $0 = .now + Self.doubtLifetime } }

    /// Ends a job whose outcome the database refuses: it would refuse that of the next attempt too (R3).
    nonisolated(nonsending) func settleRefused(_ job: ClaimedJob, _ outcome: JobOutcome) async {
        let error = LoadError(.cannotParseResponse, "What came of the job cannot be stored.")
        do throws(StoreError) {
            let isOurs = try await queue.settle(job, JobOutcome(failing: error, startedAt: outcome.startedAt))
            leave(queue.lanes(of: job))
            if isOurs, job.spec.mayHaveEvents { courier?.wake() }
        } catch {
            doubt()
        }
    }

    /// Commits that a request is about to leave; when nobody can tell whether that is committed, it does not leave.
    nonisolated(nonsending) func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try await queue.begin(job)
        } catch {
            unsent.withLock { $0.append(job) }
            throw error
        }
    }

    /// Gives jobs back to the queue that this node has and does not run.
    func rescueUnheld() async {
        guard doubtUntil.withLock({ $0.map { $0 > .now } ?? false }) else {
            return unsent.withLock { $0.removeAll() }
        }
        do throws(StoreError) {
            let unsent = unsent.withLock { $0 }
            let count = try await queue.rescueUnheld(except: running.ids, unsent: unsent)
            guard count > 0 else { return }
            logger.warning("jobs rescued that were claimed unnoticed", metadata: ["jobs.count": "\(count)"])
            wake()
            courier?.wake()
            keeper?.wake()
        } catch {
            logger.warning("unnoticed claims were not looked for", metadata: ["error": "\(error)"])
        }
    }
}
