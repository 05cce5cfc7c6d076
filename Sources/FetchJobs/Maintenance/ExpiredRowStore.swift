/// Rows that have outlived their use.
package enum ExpiredRow: String, Sendable, CaseIterable {
    /// Idempotency keys of submissions, after a day.
    case idempotencyKeys
    /// Unique keys of jobs whose window is over.
    case uniqueKeys
    /// Cookies that have expired and hide nothing in lower layers.
    case cookies
    /// Cookies and credentials in layers that no session and no snapshot lies on any more.
    case layers
    /// Webhook deliveries that are over, with their attempts.
    case deliveries
    /// The uses of stored credentials.
    case credentialUses
    /// How many jobs ended in minutes long past.
    case counts
    /// What jobs moved in days long past.
    case traffic
    /// What nodes that are gone have counted of bodies: one row has it for all of them.
    case keptBodies
    /// Groups that have finished, where final jobs are not kept for good.
    case groups
    /// Questions of jobs that are gone, where final jobs are not kept for good.
    case questions
    /// Answers of sessions whose time is over.
    case rememberedAnswers
    /// Turns to fetch for a cache that nodes have not given back.
    case cacheTurns
    /// Circuits of hosts that no job has asked for long.
    case circuits
    /// Limiters for which nothing is set any more.
    case limiters
    /// That jobs hold up their flow which have ended well since, or are gone.
    case flowBlocks
    /// Entries of the audit log, the oldest of each chain first.
    case auditEntries
    /// Data directories that no node has had for a month.
    case volumes
    /// Sign-ins to the dashboard, and links to it, whose time is over.
    case signIns
}

/// How long expired rows are kept.
package struct Retention: Sendable {
    package var idempotencyKeys = Duration.seconds(86_400)
    /// From a cookie's expiry on; clocks of nodes differ.
    package var cookies = Duration.seconds(3600)
    /// From a delivery's beginning on.
    package var deliveries = Duration.seconds(30 * 86_400)
    package var credentialUses = Duration.seconds(365 * 86_400)
    package var counts = Duration.seconds(90 * 86_400)
    /// Entries of the audit log; a day at least.
    package var audit = Duration.seconds(365 * 86_400)
    /// How many entries of the audit log a tenant has at most; 10 000 at least.
    package var auditEntries = 1_000_000
    /// After the time that a circuit was open until.
    package var circuits = Duration.seconds(3600)
    /// Long enough for every node to have learned that nothing is set for a limiter.
    package var limiters = Duration.seconds(3600)
    /// Jobs once they are final, and groups once they have finished; nil for good.
    package var jobs: Duration?

    package init() {}
}

/// Removes expired rows.
package protocol ExpiredRowStore: Sendable {
    /// Removes some rows of a kind.
    ///
    /// - Returns: How many; there may be more when it is not 0.
    func remove(_ expiredRow: ExpiredRow, keeping retention: Retention) async throws(StoreError) -> Int
}
