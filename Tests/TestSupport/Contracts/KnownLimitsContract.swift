package import FetchJobs

/// The contract of every form of ``KnownLimits``, while nobody has set a limit.
package enum KnownLimitsContract {
    package static let clauses: [Clause<any KnownLimits>] = [
        Clause("tenants without a weight of their own weigh the same") { limits in
            compare("weights", [Tenant.ID.first, .second].map { limits.weight(of: $0) }, [1, 1])
        },
        Clause("a host at whose gate no job waits is not crowded") { limits in
            compare("crowd", limits.crowd(of: Limiter.Address(tenant: .first, kind: .host, key: "a.example")), nil)
        },
    ]
}
