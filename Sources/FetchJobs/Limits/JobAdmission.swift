/// The limits that jobs share, as the worker keeps them.
package protocol JobAdmission: Sendable {
    /// The limiters with limits that a job is in, as far as this node knows.
    func limiters(of job: ClaimedJob) -> [Limiter.Address]

    /// Lets as many jobs through the gates of limiters as their limits allow.
    func admit(_ limiters: [Limiter.Address]) async throws(StoreError) -> Admission

    /// The limiters at whose gates jobs wait: so many of them, in an order.
    ///
    /// - Parameter last: That before the first; nil for the beginning.
    func gatedLimiters(after last: Limiter.Address?, limit: Int) async throws(StoreError) -> [Limiter.Address]

    /// Applies the signal of a host's origin in its response to a request of this time.
    ///
    /// While its circuit is open no job of the host is started until its time; then one at a time is, until the origin
    /// says to proceed.
    ///
    /// - Returns: Whether that changed which jobs are started.
    nonisolated(nonsending) func heed(
        _ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp
    ) async throws(StoreError) -> Bool

    /// Has jobs of a host wait at its gate from now on, and run so many at once on all nodes.
    ///
    /// - Parameter surplus: Claimed jobs that are to wait there too: they were not begun.
    /// - Returns: The claimed jobs that wait there now.
    func setCrowd(
        _ limit: Int, of host: Limiter.Address, givingBack surplus: [ClaimedJob]
    ) async throws(StoreError) -> Set<Job.ID>
}

/// The result of admitting jobs that wait at the gates of limiters.
package struct Admission: Sendable {
    /// Jobs can be claimed that could not before.
    package var hasQueuedJobs = false
    /// After how long limiters may let more through, by themselves.
    package var next: [Limiter.Address: Duration] = [:]
    package var failures: [UpkeepFailure] = []

    package init() {}
}

/// The limits that a node has in memory.
package protocol KnownLimits: Sendable {
    /// How much of the slots a tenant may have beside others.
    func weight(of tenant: Tenant.ID) -> Int

    /// How many jobs of a host run at once on all nodes while others wait at its gate; nil while none does.
    func crowd(of host: Limiter.Address) -> Int?
}
