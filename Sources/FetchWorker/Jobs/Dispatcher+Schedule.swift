import FetchJobs
import Logging

// Jobs that wait for a time: theirs, or that of their next attempt.

extension Dispatcher {
    /// Lets jobs be claimed whose time has come, and ends those that have waited for too long.
    func keepSchedule() async {
        await alarm.run {
            self.running.stopExpired()
            self.watchDeadlines()
            do throws(StoreError) {
                let promotion = try await self.queue.promote()
                if promotion.hasQueuedJobs { self.wake() }
                if promotion.hasEndedJobs {
                    self.courier?.wake()
                    self.keeper?.wake()
                }
                if let next = promotion.next { self.wake(after: next) }
                self.report(promotion.failures)
            } catch {
                // The next pulse asks again.
                self.report([UpkeepFailure(.promotion, error)])
            }
        }
    }

    /// Takes jobs that could wait while no others do: as many as leave most places free for those to come.
    func useQuietTime() async {
        let room = min(configuration.concurrency / 4, 128) - running.count
        guard room > 0 else { return }
        do throws(StoreError) {
            if try await queue.pullForward(limit: room) > 0 { wake() }
        } catch {
            report([UpkeepFailure(.discretion, error)])
        }
    }

    /// Rings when the next of the jobs that run here is to be given up.
    func watchDeadlines() {
        if let wait = running.untilDeadline() { wake(after: wait) }
    }

    package func wake(after wait: Duration) {
        // What is farther away comes up with a later pulse, on whichever node lives then.
        if wait < configuration.lease { alarm.set(after: wait) }
    }

    /// Stores an attempt that another one follows.
    ///
    /// - Returns: false when the job is to be settled: it was the last attempt, or somebody else's word came between.
    nonisolated(nonsending) func retried(_ job: ClaimedJob, _ outcome: JobOutcome) async throws(StoreError) -> Bool {
        guard let wait = outcome.retryAfter, try await queue.retry(job, outcome, after: wait) else { return false }
        wake(after: wait)
        metrics.countRetry()
        logger.notice(
            "job waits for another attempt",
            metadata: [
                "job.id": "\(job.id)",
                "job.claim": "\(job.claim)",
                "load.code": "\(outcome.errorName ?? "-")",
                "http.status": "\(outcome.status.map { String($0) } ?? "-")",
                "retry.wait": "\(wait)",
            ]
        )
        return true
    }

    func log(_ job: ClaimedJob, _ outcome: JobOutcome, isOurs: Bool) {
        guard isOurs else {
            logger.notice("job fenced", metadata: ["job.id": "\(job.id)", "job.claim": "\(job.claim)"])
            return
        }
        // Thousands a second may succeed.
        logger.log(
            level: outcome.state == .succeeded ? .info : .notice,
            "job finished",
            metadata: [
                "job.id": "\(job.id)",
                "job.state": "\(outcome.state.rawValue)",
                "load.code": "\(outcome.errorName ?? "-")",
                "http.status": "\(outcome.status.map { String($0) } ?? "-")",
            ]
        )
    }
}
