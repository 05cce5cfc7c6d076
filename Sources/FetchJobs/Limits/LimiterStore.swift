/// The limiters of tenants, as those see them who set their limits.
package protocol LimiterStore: Sendable {
    /// The limiters of a kind for which something is set, by their keys, up to `limit` after one.
    func limiters(
        of tenant: Tenant.ID, _ kind: Limiter.Kind, after key: String, limit: Int
    ) async throws(StoreError) -> [Limiter]

    /// The limiter, or nil when nothing is set for it.
    func limiter(_ address: Limiter.Address) async throws(StoreError) -> Limiter?

    /// Sets its limits, all of them; running jobs go on.
    ///
    /// - Parameter keepsPinned: Whether limits that are pinned stay, and stay pinned.
    func set(_ limits: SharedLimits, of address: Limiter.Address, keepsPinned: Bool) async throws(StoreError)

    /// Begins the period of its rate anew, as if no job of it had started.
    func resetRate(of address: Limiter.Address) async throws(StoreError)

    /// Starts none of its jobs any more, or goes on; running jobs go on.
    func setPaused(_ isPaused: Bool, _ address: Limiter.Address) async throws(StoreError)

    /// Lets the jobs behind a failed one go on.
    func skip(_ address: Limiter.Address) async throws(StoreError)

    /// How the queue of a tenant is.
    func queue(of tenant: Tenant.ID) async throws(StoreError) -> TenantQueue

    /// Starts none of a tenant's jobs any more, or goes on; running jobs go on.
    func setPaused(_ isPaused: Bool, of tenant: Tenant.ID) async throws(StoreError)

    /// Takes everything back that is set for it.
    ///
    /// - Returns: false when nothing was.
    func remove(_ address: Limiter.Address) async throws(StoreError) -> Bool
}

extension LimiterStore {
    /// Sets its limits, those that are pinned too.
    package func set(_ limits: SharedLimits, of address: Limiter.Address) async throws(StoreError) {
        try await set(limits, of: address, keepsPinned: false)
    }
}

/// All jobs of a tenant that are not final.
package struct TenantQueue: Sendable, Equatable {
    /// None of them is started.
    package var isPaused = false
    /// No job of any tenant is started: its operator has paused the service.
    package var isServicePaused = false
    /// How many of them run, on all nodes.
    package var running: Int64 = 0
    /// How many bytes of bodies a second they may move in each direction, on all nodes; nil for any number.
    package var maximumBytesPerSecond: Int64?
    /// How many of them wait, for any reason; a lower bound when they are very many.
    package var waiting: Int64 = 0
    /// How many may wait; nil for as many as come.
    package var maximumWaitingJobs: Int?

    package init() {}

    package func write(_ writer: inout JSONWriter) {
        writer.member("paused", isPaused)
        writer.member("servicePaused", isServicePaused)
        writer.member("running", running)
        writer.member("maximumBytesPerSecond", maximumBytesPerSecond)
        writer.member("waiting", waiting)
        writer.member("maximumWaitingJobs", maximumWaitingJobs)
    }
}
