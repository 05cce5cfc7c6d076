import FetchJobs
import Logging

// Jobs that were lost with their nodes so often that they may have been the cause.

extension Dispatcher {
    /// Runs a job; alone, when it is a suspect, with word of that in the database before it starts (REL-4, REL-5).
    ///
    /// Only jobs that were claimed before are asked about, so all others cost nothing.
    ///
    /// - Returns: Nil when the job is another node's now.
    nonisolated(nonsending) func runGuarded(
        _ job: ClaimedJob, _ retry: RetryPolicy, stop: StopSwitch
    ) async throws(StoreError) -> JobOutcome? {
        guard job.mayHaveBeenLost, retry.mayRepeat(job.spec.request), try await queue.isSuspect(job) else {
            return try await runner.run(job, retry, stop: stop)
        }
        logger.warning("a job that may have taken nodes down runs alone", metadata: ["job.id": "\(job.id)"])
        // While it waits, others have its place on the node.
        if places.leave() { claims.send() }
        let stay = await suspects.enter(stop)
        places.leave(-1)
        defer { if let stay { suspects.leave(stay) } }
        if stay != nil { guard try await queue.tryAlone(job) else { return nil } }
        // One that is to stop before its turn ends by its switch, as ever.
        return try await runner.run(job, retry, stop: stop)
    }
}
