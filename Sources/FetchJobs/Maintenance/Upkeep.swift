/// The periodic work of a node that keeps all jobs going.
///
/// Each step fails alone, and goes around the rows that make it fail: no failure may keep a node from extending its
/// lease.
package enum Upkeep: String, CaseIterable, Sendable {
    case limiters
    case protocols
    case rules
    case egress
    case quotas
    case paces
    case rescue
    case quarantine
    case promotion
    case expiry
    case admission
    case discretion
    case pruning
}

/// A step of the upkeep that failed, or the row that it went around.
package struct UpkeepFailure: Sendable {
    package let step: Upkeep
    /// The job that caused the failure; nil when it is unknown.
    package let job: Job.ID?
    package let error: StoreError

    package init(_ step: Upkeep, of job: Job.ID? = nil, _ error: StoreError) {
        self.step = step
        self.job = job
        self.error = error
    }
}

/// The result of rescuing the jobs of nodes whose lease has expired.
package struct Rescue: Sendable {
    /// How many jobs were taken from such nodes.
    package let count: Int
    package let failures: [UpkeepFailure]
    /// After how long the lease of another node runs out, unless that extends it; nil when there is no other.
    package let next: Duration?

    package init(count: Int, failures: [UpkeepFailure], next: Duration?) {
        self.count = count
        self.failures = failures
        self.next = next
    }
}
