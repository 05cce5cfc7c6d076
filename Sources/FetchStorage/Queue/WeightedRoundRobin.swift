package import FetchJobs

/// The order in which jobs of tenants are claimed: round robin, each tenant as many as its weight while it has any.
///
/// A tenant with a thousand times the jobs of another delays it by its own weight at most, and no place stays free
/// while anybody waits. Each node gives turns for itself, and so all of them together are fair.
package struct WeightedRoundRobin: Sendable {
    /// The number of jobs that one tenant gets in a claim.
    package struct Share: Sendable, Equatable {
        package let tenant: Tenant.ID
        package fileprivate(set) var count: Int

        package init(tenant: Tenant.ID, count: Int) {
            self.tenant = tenant
            self.count = count
        }

        func limited(to room: Int) -> Share { Share(tenant: tenant, count: min(count, room)) }
    }

    /// Tenants in between are not known of, and looked for.
    package struct Gap: Sendable, Equatable {
        package let after: Tenant.ID
        package let before: Tenant.ID

        package init(after: Tenant.ID, before: Tenant.ID) {
            self.after = after
            self.before = before
        }

        package static let whole = Gap(after: Tenant.ID(rawValue: .min), before: Tenant.ID(rawValue: .max))
    }

    /// The jobs that a claim took from one tenant, and its weight where that was read.
    package struct Taken: Sendable {
        package var count = 0
        package var weight: Int?

        package init(count: Int = 0, weight: Int? = nil) {
            self.count = count
            self.weight = weight
        }
    }

    private struct Entry {
        let tenant: Tenant.ID
        var weight = 1
    }

    /// The tenants that have jobs waiting, as far as is known; it is the first one's turn.
    private var entries: [Entry] = []
    /// The places that the first tenant has had of its turn.
    private var granted = 0

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    package func contains(_ tenant: Tenant.ID) -> Bool { entries.contains { $0.tenant == tenant } }

    /// Divides the next `limit` places, and goes on to whose turn it is after them.
    package mutating func next(_ limit: Int) -> [Share] {
        guard !entries.isEmpty else { return [] }
        var shares: [Share] = []
        var (index, rest) = (0, limit)
        while rest > 0 {
            let entry = entries[index % entries.count]
            let count = min(rest, max(1, entry.weight - granted))
            if index < entries.count {
                shares.append(Share(tenant: entry.tenant, count: count))
            } else {
                shares[index % entries.count].count += count
            }
            rest -= count
            granted += count
            if granted >= entry.weight { (index, granted) = (index + 1, 0) }
        }
        let start = index % entries.count
        entries = Array(entries[start...] + entries[..<start])
        return shares
    }

    /// Where tenants may be that are not known, from each of these on to the next that is.
    ///
    /// The tenants of this turn are enough: all turns together see every tenant.
    package func gaps(behind shares: [Share]) -> [Gap] {
        let known = entries.map(\.tenant.rawValue).sorted()
        guard let first = known.first, let last = known.last else { return [.whole] }
        let asked = Set(shares.map(\.tenant.rawValue))
        var gaps: [Gap] = []
        for (tenant, next) in zip(known, known.dropFirst() + [Int64.max]) where asked.contains(tenant) {
            gaps.append(Gap(after: Tenant.ID(rawValue: tenant), before: Tenant.ID(rawValue: next)))
        }
        if asked.contains(last) { gaps.append(Gap(after: Gap.whole.after, before: Tenant.ID(rawValue: first))) }
        return gaps
    }

    /// Notes the jobs found for each share: a tenant with fewer has nothing left.
    package mutating func took(_ taken: [Tenant.ID: Taken], of shares: [Share]) {
        var dry: Set<Tenant.ID> = []
        for share in shares {
            guard let index = entries.firstIndex(where: { $0.tenant == share.tenant }) else { continue }
            let claimed = taken[share.tenant] ?? Taken()
            entries[index].weight = claimed.weight ?? entries[index].weight
            if claimed.count < share.count { dry.insert(share.tenant) }
        }
        remove(dry)
    }

    /// Takes tenants their turns.
    package mutating func remove(_ tenants: Set<Tenant.ID>) {
        guard !tenants.isEmpty else { return }
        if let first = entries.first, tenants.contains(first.tenant) { granted = 0 }
        entries.removeAll { tenants.contains($0.tenant) }
    }

    /// Gives tenants their turns, after those that wait already.
    package mutating func add(_ tenants: [Tenant.ID]) {
        for tenant in tenants where !contains(tenant) { entries.append(Entry(tenant: tenant)) }
    }
}
