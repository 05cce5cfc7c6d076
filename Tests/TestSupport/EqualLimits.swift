package import FetchJobs

/// Tenants that are alike, and no host that is crowded.
package struct EqualLimits: KnownLimits {
    package init() {}

    package func weight(of tenant: Tenant.ID) -> Int { 1 }
    package func crowd(of host: Limiter.Address) -> Int? { nil }
}
