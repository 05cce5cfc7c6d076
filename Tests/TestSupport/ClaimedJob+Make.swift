package import FetchJobs

extension Tenant.ID {
    package static let first = Tenant.ID(rawValue: 1)
    package static let second = Tenant.ID(rawValue: 2)
}

extension ClaimedJob {
    /// A job that this node has claimed.
    package static func make(
        of tenant: Tenant.ID = .first, host: String = "a.example", priority: Double = 0.5, claim: Int32 = 1,
        tries: Int = 0, expiresAt: Timestamp? = nil
    ) throws -> ClaimedJob {
        let spec = try JobSpec.make(url: "http://\(host)/", more: #", "priority": \#(priority)"#)
        return ClaimedJob(id: Job.ID(), tenant: tenant, spec: spec, claim: claim, tries: tries, expiresAt: expiresAt)
    }
}
