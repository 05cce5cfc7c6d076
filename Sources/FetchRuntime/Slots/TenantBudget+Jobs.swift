import FetchJobs

extension TenantBudget {
    /// How many more jobs a tenant may have, by the memory that their contents take, when they are as large as the others
    /// that it has.
    ///
    /// One that has no large job always gets some, and a single job is never too large. What a claim has found to be
    /// larger than expected is charged all the same.
    ///
    /// - Parameter count: How many it has.
    func jobs(of tenant: Tenant.ID, having count: Int) -> Int {
        let part = part(of: tenant)
        guard part > 0 else { return .max }
        let left = free - part
        guard left > 0 else { return 0 }
        let room = Double(left) * Double(max(1, count)) / Double(part)
        return room < Double(Int32.max) ? max(1, Int(room)) : .max
    }
}
