import FetchJobs
import FetchRuntime
import Logging

// Jobs that were lost with their nodes so often that they may have been the cause (REL-4, REL-5).
//
// All nodes try them, in groups: when a node is lost again, those that were with it come in smaller ones, down to one
// that has its node for itself. Only the loss of that node is its fault: a node that is killed while several jobs run
// blames none of them.

extension Dispatcher {
    /// How long a node waits until nothing else runs on it; then its suspect runs beside others, and is not to blame.
    private static let patience = Duration.seconds(5)
    /// How long a suspect has a node for itself: others wait meanwhile.
    private static let solitude = Duration.seconds(10)

    func keepTrials() async {
        for await _ in trials.values {
            do throws(StoreError) {
                while !Task.isCancelled, quarantine.isFree, let count = try await queue.nextTrial() {
                    let isOver = try await count > 1 ? tryTogether(count).isEmpty : tryAlone().isEmpty
                    if isOver { break }
                }
            } catch {
                // Some may be claimed that this node does not know of; the next heartbeat asks for the others again.
                intake.noteUncertainCommit()
                report([UpkeepFailure(.quarantine, error)])
            }
        }
    }

    private func tryTogether(_ count: Int, isAlone: Bool = false) async throws(StoreError) -> [ClaimedJob] {
        let claimed = try await queue.claimSuspects(count)
        guard !claimed.isEmpty else { return [] }
        let held = try await queue.beginTrial(claimed, isAlone: isAlone)
        let jobs = claimed.filter { held.contains($0.id) }
        logger.warning(
            "trying jobs that may have taken nodes down",
            metadata: ["jobs.count": "\(jobs.count)", "job.id": "\(jobs.first.map { "\($0.id)" } ?? "-")"])
        quarantine.enter(jobs)
        // They have slots beyond those that there are: others need not go for them.
        slots.admit(jobs)
        intake.run(jobs)
        return jobs
    }

    /// Tries one while nothing else runs here.
    private func tryAlone() async throws(StoreError) -> [ClaimedJob] {
        let start = clock.now
        slots.setQuiet(true)
        defer {
            slots.setQuiet(false)
            // However many suspects there are, half of the time is for others.
            quarantine.rest(for: clock.now - start)
            intake.claims.signal()
        }
        let isAlone = await areEmpty(within: Self.patience)
        let jobs = try await tryTogether(1, isAlone: isAlone)
        if isAlone, !jobs.isEmpty, await !areEmpty(within: Self.solitude) {
            _ = try await queue.beginTrial(jobs, isAlone: false)
        }
        return jobs
    }

    /// Whether nothing runs here any more, after this time at the latest.
    private func areEmpty(within patience: Duration) async -> Bool {
        let deadline = clock.now + patience
        while !slots.areEmpty {
            guard clock.now < deadline, !Task.isCancelled else { return false }
            // Cancelled at shutdown: the loop ends then.
            try? await clock.sleep(for: .milliseconds(20))
        }
        return true
    }
}
