/// The queue as a whole, which every node looks after.
package protocol QueueMaintenance: Sendable {
    /// Extends this node's lease, and returns the work that is due.
    func heartbeat() async throws(StoreError) -> Heartbeat

    /// Returns the work that is due, as ``heartbeat()`` does, and writes nothing: the lease stays as it is.
    func look() async throws(StoreError) -> Heartbeat

    /// Gives this node's lease back: it runs no job any more, and others need not wait until the lease has run out.
    func leave() async throws(StoreError)

    /// Lets jobs be claimed whose time has come, and ends those that have waited for too long.
    func promote() async throws(StoreError) -> Promotion

    /// Lets discretionary jobs be claimed although they could wait: there is little to do.
    ///
    /// - Returns: How many, up to the limit.
    func pullForward(limit: Int) async throws(StoreError) -> Int

    /// For how long the job that has waited longest has been due; nil when none waits, or none may be started.
    func oldestDueAge() async throws(StoreError) -> Duration?

    /// Takes the jobs of nodes whose lease has run out from them, for any node to claim.
    func rescue() async throws(StoreError) -> Rescue

    /// Takes jobs from this node that it has without knowing: the answer of the statement that gave them was lost.
    ///
    /// - Parameters:
    ///   - held: The jobs that it knows of.
    ///   - unsent: Attempts that have sent nothing, even if they are stored as begun.
    /// - Returns: How many there were.
    func reconcile(except held: Set<Job.ID>, unsent: [ClaimedJob]) async throws(StoreError) -> Int

    /// Makes the next partition of jobs by time, and drops those whose jobs have all been final for this long.
    ///
    /// A node calls it now and then; no partition is longer than a sixth of that time, or an hour.
    func maintainPartitions(for retention: Duration) async throws(StoreError)

    /// Removes jobs that have been final for this long and are in no partition that goes as a whole, some at a time.
    ///
    /// - Returns: How many; there may be more when it is not 0.
    func removeFinal(after retention: Duration) async throws(StoreError) -> Int
}

/// The result of promoting jobs that wait for a time.
package struct Promotion: Sendable {
    /// Jobs can be claimed that could not before.
    package let hasQueuedJobs: Bool
    /// Jobs have ended.
    package let hasEndedJobs: Bool
    /// How long nothing of this kind happens; nil when no job waits for a time.
    package let next: Duration?
    package let failures: [UpkeepFailure]

    package init(hasQueuedJobs: Bool, hasEndedJobs: Bool, next: Duration?, failures: [UpkeepFailure] = []) {
        self.hasQueuedJobs = hasQueuedJobs
        self.hasEndedJobs = hasEndedJobs
        self.next = next
        self.failures = failures
    }
}

/// The state that a node reads each time it extends its lease, and when it is told that something has changed.
package struct Heartbeat: Sendable {
    /// Jobs wait that any node may claim.
    package let hasQueuedJobs: Bool
    /// Jobs wait whose time comes before the next look.
    package let hasJobsToPromote: Bool
    /// Jobs wait at the gates of limiters.
    package let hasGatedJobs: Bool
    /// Jobs wait that must be tried alone, or nearly so.
    package let hasSuspects: Bool
    /// Webhook deliveries are due.
    package let hasDueDeliveries: Bool
    /// Jobs that this node runs and is asked to stop.
    package let cancelled: [Job.ID]
    /// Those of them whose partial files are kept.
    package let keepingPartial: [Job.ID]
    /// Jobs that this node has and that are held.
    package let suspended: [Job.ID]
    /// How those of its jobs are to go on whose pace was changed.
    package let paces: [Job.ID: JobPace]
    /// This node's lease had run out before it was extended, if it was: its jobs may be another's now.
    package let leaseWasLost: Bool
    /// There are sessions or groups that end, or whose client has not been told yet.
    package let hasUnsettledEnds: Bool
    /// There are schedules whose time comes before the next look.
    package let hasSchedules: Bool
    /// Discretionary jobs wait for a quiet time.
    package let hasDiscretionaryJobs: Bool
    /// After how long the lease of another node runs out, unless that extends it; nil when there is no other.
    package let nextLoss: Duration?
    package let failures: [UpkeepFailure]
    /// How many nodes run jobs, this one among them if it does.
    package let workers: Int

    package init(
        hasQueuedJobs: Bool,
        hasJobsToPromote: Bool,
        hasGatedJobs: Bool = false,
        hasSuspects: Bool = false,
        hasDueDeliveries: Bool,
        cancelled: [Job.ID],
        keepingPartial: [Job.ID] = [],
        suspended: [Job.ID] = [],
        paces: [Job.ID: JobPace] = [:],
        leaseWasLost: Bool,
        hasUnsettledEnds: Bool,
        hasSchedules: Bool,
        hasDiscretionaryJobs: Bool,
        nextLoss: Duration? = nil,
        failures: [UpkeepFailure] = [],
        workers: Int = 1
    ) {
        self.hasQueuedJobs = hasQueuedJobs
        self.hasJobsToPromote = hasJobsToPromote
        self.hasGatedJobs = hasGatedJobs
        self.hasSuspects = hasSuspects
        self.hasDueDeliveries = hasDueDeliveries
        self.cancelled = cancelled
        self.keepingPartial = keepingPartial
        self.suspended = suspended
        self.paces = paces
        self.leaseWasLost = leaseWasLost
        self.hasUnsettledEnds = hasUnsettledEnds
        self.hasSchedules = hasSchedules
        self.hasDiscretionaryJobs = hasDiscretionaryJobs
        self.nextLoss = nextLoss
        self.failures = failures
        self.workers = workers
    }
}
