import FetchJobs
import FetchRuntime
import Logging

// The upkeep by a node beside running jobs: each part fails alone, and reports it.

extension Dispatcher {
    /// The delay between the end of a lease and the look whether it was extended: two clocks never agree.
    private static let grace = Duration.milliseconds(50)

    /// Takes the jobs of other nodes when their lease has run out, as soon as that is (REL-2); beside the heartbeat,
    /// which does not wait for it.
    func keepRescuing() async {
        await leaseTimer.run {
            do throws(StoreError) {
                let rescue = try await self.queue.rescue()
                self.report(rescue.failures)
                if rescue.count > 0 { self.startAgain(rescue.count) }
                self.watchNodes(until: rescue.next)
            } catch {
                // The next heartbeat asks again.
                self.report([UpkeepFailure(.rescue, error)])
            }
        }
    }

    /// Jobs are in the queue again, or have ended.
    private func startAgain(_ count: Int) {
        logger.warning("jobs of lost nodes rescued", metadata: ["jobs.count": "\(count)"])
        intake.wake()
        trials.signal()
        intake.admit(nil)
        courier?.notify()
        completionNotifier?.notify()
    }

    /// Looks at the other nodes when the lease of one runs out, and now and then.
    func watchNodes(until nextLoss: Duration?) {
        leaseTimer.set(after: min(max(nextLoss ?? .seconds(60), .zero) + Self.grace, configuration.lease))
    }

    func report(_ failures: [UpkeepFailure]) {
        for failure in failures { metrics.upkeep.count(failure.step) }
        // When there are many, the first ones tell.
        for failure in failures.prefix(10) {
            logger.error(
                "upkeep failed",
                metadata: [
                    "upkeep.step": "\(failure.step.rawValue)",
                    "job.id": "\(failure.job.map { "\($0)" } ?? "-")",
                    "error": "\(failure.error)",
                ]
            )
        }
    }
}

/// How often each step of a node's upkeep failed.
struct UpkeepMetrics: Sendable {
    private let failed: [Upkeep: Counter]

    init(_ registry: MetricsRegistry) {
        let family = registry.counter(.upkeepFailures)
        failed = Dictionary(uniqueKeysWithValues: Upkeep.allCases.map { ($0, family[$0.rawValue]) })
    }

    func count(_ step: Upkeep) { failed[step]?.add() }
}
