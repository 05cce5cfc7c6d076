import FetchJobs
import FetchRuntime
import Logging

// Jobs that wait for a time: theirs, or that of their next attempt.

extension Dispatcher {
    /// Lets jobs be claimed whose time has come, and ends those that have waited for too long.
    func keepSchedule() async {
        await intake.promotionTimer.run {
            self.running.stopExpired()
            self.watchDeadlines()
            do throws(StoreError) {
                let promotion = try await self.queue.promote()
                if promotion.hasQueuedJobs { self.intake.wake() }
                if promotion.hasEndedJobs {
                    self.courier?.notify()
                    self.completionNotifier?.notify()
                }
                if let next = promotion.next { self.intake.wake(after: next) }
                self.report(promotion.failures)
            } catch {
                // The next heartbeat asks again.
                self.report([UpkeepFailure(.promotion, error)])
            }
        }
    }

    /// Takes jobs that could wait while no others do: as many as leave most places free for those to come.
    func useQuietTime() async {
        let room = min(configuration.concurrency / 4, 128) - running.count
        guard room > 0 else { return }
        do throws(StoreError) {
            if try await queue.pullForward(limit: room) > 0 { intake.wake() }
        } catch {
            report([UpkeepFailure(.discretion, error)])
        }
    }

    /// Fires when the next of the jobs that run here has to be given up.
    func watchDeadlines() {
        if let wait = running.untilDeadline() { intake.wake(after: wait) }
    }
}
