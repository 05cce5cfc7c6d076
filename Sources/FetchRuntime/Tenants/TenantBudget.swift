package import FetchJobs

/// So much of something that a node has for all tenants: one may have as much as it leaves free.
///
/// So one that is alone gets half, the next one half of the rest, and one that has nothing yet finds something, up to
/// the last unit.
package struct TenantBudget: Sendable {
    package let total: Int
    private var used = 0
    private var parts: [Tenant.ID: Int] = [:]

    package init(_ total: Int) { self.total = total }

    /// What nobody has; below zero when tenants were charged with more than there is.
    package var free: Int { total - used }

    /// Those that have some.
    package var tenants: some Collection<Tenant.ID> { parts.keys }

    /// What a tenant has.
    package func part(of tenant: Tenant.ID) -> Int { parts[tenant] ?? 0 }

    /// Whether a tenant may have so much more.
    package func allows(_ amount: Int, of tenant: Tenant.ID) -> Bool {
        let part = part(of: tenant)
        return part + amount <= free - amount || (part == 0 && amount == 1 && free == 1)
    }

    /// Charges a tenant with as much as it may have.
    ///
    /// - Returns: Whether it may, and is charged.
    package mutating func take(_ amount: Int, for tenant: Tenant.ID) -> Bool {
        guard allows(amount, of: tenant) else { return false }
        charge(amount, to: tenant)
        return true
    }

    /// Charges a tenant, whether it may or not; what is negative comes back.
    package mutating func charge(_ amount: Int, to tenant: Tenant.ID) {
        // Most jobs have no content that counts.
        guard amount != 0 else { return }
        used += amount
        let part = part(of: tenant) + amount
        parts[tenant] = part == 0 ? nil : part
    }
}
