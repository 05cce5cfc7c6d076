/// The jobs that a node has claimed, from the first request to the stored result.
///
/// The methods that an attempt waits for run where their caller does, so that it need not leave the loop of its
/// transfer.
package protocol JobLifeCycle: Sendable {
    /// Commits that a request which must not be repeated is about to be sent.
    ///
    /// - Returns: false when the claim was lost: the job is another node's now.
    nonisolated(nonsending) func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool

    /// Commits that suspects are tried together from now on, or that one has its node for itself: when that is lost, it
    /// is its fault.
    ///
    /// - Returns: Those whose claims were not lost.
    func beginTrial(_ jobs: [ClaimedJob], isAlone: Bool) async throws(StoreError) -> Set<Job.ID>

    /// Commits how a job ended: its final state, the attempt, the body and the webhook delivery, at once.
    ///
    /// - Returns: false when the claim was lost: nothing was written.
    nonisolated(nonsending) func settle(_ job: ClaimedJob, _ outcome: JobOutcome) async throws(StoreError) -> Bool

    /// Commits that an attempt failed and that another one follows after this time.
    ///
    /// - Returns: false when none follows: the claim was lost, or the job is being cancelled.
    nonisolated(nonsending) func retry(
        _ job: ClaimedJob, _ outcome: JobOutcome, after wait: Duration
    ) async throws(StoreError) -> Bool

    /// Gives the claims of these jobs back, for other nodes to take; one that waits at a stored position is parked, and
    /// one that is being cancelled ends as cancelled, whether it was begun or not.
    ///
    /// - Returns: Those that are this node's no more: not one that was begun, or whose claim was lost before.
    @discardableResult
    func release(_ jobs: [ClaimedJob]) async throws(StoreError) -> Set<Job.ID>
}
