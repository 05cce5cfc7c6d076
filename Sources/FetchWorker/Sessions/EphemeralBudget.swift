import FetchJobs

/// So much of something for the ephemeral sessions of a node: a tenant may have as much as it leaves free.
///
/// So one that is alone gets half, the next one half of the rest, and one that has nothing yet finds something.
struct EphemeralBudget {
    let total: Int
    private var used = 0
    private var parts: [Tenant.ID: Int] = [:]

    init(_ total: Int) { self.total = total }

    /// What a tenant has.
    func part(of tenant: Tenant.ID) -> Int { parts[tenant] ?? 0 }

    /// Whether a tenant may have so much more.
    func allows(_ amount: Int, of tenant: Tenant.ID) -> Bool { part(of: tenant) + amount <= total - used - amount }

    /// Charges a tenant; what is negative comes back.
    mutating func charge(_ amount: Int, to tenant: Tenant.ID) {
        used += amount
        let part = part(of: tenant) + amount
        parts[tenant] = part == 0 ? nil : part
    }
}
