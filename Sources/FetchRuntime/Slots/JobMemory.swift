import FetchJobs

/// The memory that the contents of a node's jobs take: a tenant gets more of them while it has less than it leaves free.
///
/// So one that is alone gets half, and its jobs wait then until some have ended; one that has none always gets some, and
/// a single job is never too large. What a claim has found to be larger than expected is taken all the same.
struct JobMemory {
    private let total: Int
    private var used = 0
    private var parts: [Tenant.ID: Int] = [:]

    init(_ total: Int) { self.total = total }

    /// Those whose jobs take some.
    var tenants: some Collection<Tenant.ID> { parts.keys }

    /// How many more jobs a tenant may have when they are as large as the others that it has.
    ///
    /// - Parameter count: How many it has.
    func room(of tenant: Tenant.ID, having count: Int) -> Int {
        guard let part = parts[tenant] else { return .max }
        let left = total - used - part
        guard left > 0 else { return 0 }
        let room = Double(left) * Double(max(1, count)) / Double(part)
        return room < Double(Int32.max) ? max(1, Int(room)) : .max
    }

    /// - Parameter bytes: Of a job that has come; less than zero for one that has left.
    mutating func add(_ bytes: Int, of tenant: Tenant.ID) {
        // Most jobs have no content that counts.
        guard bytes != 0 else { return }
        used += bytes
        let part = parts[tenant, default: 0] + bytes
        parts[tenant] = part > 0 ? part : nil
    }
}
