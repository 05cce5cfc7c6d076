package import FetchJobs

/// How many of something tenants have, jobs that wait for example, and how many more they may: the last count of each,
/// and what was stored since.
package struct QuotaCounts: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// How old a count may become while some are stored: other nodes add to it too.
    package static let interval = Duration.seconds(5)
    /// The validity of a count, as a multiple of its duration: a quota of a million is not counted for each refusal.
    private static let restFactor = 10

    private struct Count {
        var waiting: Int
        /// Those stored since the count began, which it may have seen or not.
        var added = 0
        var startedAt: Instant
        var isGoodUntil: Instant
        /// Somebody has asked for the room since the count.
        var isAsked = false

        /// Others may have added to it meanwhile, and it is still needed.
        var isUsed: Bool { added != 0 || isAsked }
    }

    private let quotaOfTenant: @Sendable (Tenant.ID) -> Int?
    private let heldOfTenant: @Sendable (Tenant.ID) -> Int
    private var counts: [Tenant.ID: Count] = [:]

    /// - Parameters:
    ///   - quota: How many a tenant may have now; nil for as many as it likes.
    ///   - held: How many a tenant has now that are not counted, because they are not stored yet.
    package init(
        quota: @escaping @Sendable (Tenant.ID) -> Int?, held: @escaping @Sendable (Tenant.ID) -> Int = { _ in 0 }
    ) {
        quotaOfTenant = quota
        heldOfTenant = held
    }

    func quota(of tenant: Tenant.ID) -> Int? { quotaOfTenant(tenant) }

    /// How many more a quota has room for; less than 0 when there are too many.
    private func left(of quota: Int, _ tenant: Tenant.ID) -> Int {
        quota - (counts[tenant]?.waiting ?? 0) - heldOfTenant(tenant)
    }

    /// Lets up to `wanted` in, as far as the quota allows.
    ///
    /// - Returns: Nil when those of the tenant have to be counted first.
    package mutating func take(_ wanted: Int, of tenant: Tenant.ID, at now: Instant) -> Int? {
        guard let quota = quota(of: tenant) else { return wanted }
        guard let count = counts[tenant] else { return nil }
        if left(of: quota, tenant) < wanted, now >= count.isGoodUntil { return nil }
        return takeCounted(wanted, of: tenant)
    }

    /// How many more there is room for.
    ///
    /// - Returns: Nil when those of the tenant have to be counted first.
    package mutating func room(of tenant: Tenant.ID, at now: Instant) -> Int? {
        guard let quota = quota(of: tenant) else { return .max }
        guard let count = counts[tenant] else { return nil }
        counts[tenant]?.isAsked = true
        let left = left(of: quota, tenant)
        if left <= 0, now >= count.isGoodUntil { return nil }
        return max(0, left)
    }

    /// The same after they were counted: those found then are all there are.
    package mutating func takeCounted(_ wanted: Int, of tenant: Tenant.ID) -> Int {
        guard let quota = quota(of: tenant) else { return wanted }
        let taken = max(0, min(wanted, left(of: quota, tenant)))
        counts[tenant]?.waiting += taken
        counts[tenant]?.added += taken
        return taken
    }

    /// Some that were let in do not count: they are over, or were not stored.
    package mutating func giveBack(_ number: Int, of tenant: Tenant.ID) {
        guard var count = counts[tenant] else { return }
        count.waiting -= number
        count.added -= number
        counts[tenant] = count
    }

    /// The tenants among these for whom there must be a count now.
    package mutating func begin(_ tenants: Set<Tenant.ID>, at now: Instant) -> [Tenant.ID] {
        let stale = tenants.filter { tenant in
            quota(of: tenant) != nil && counts[tenant].map { now >= $0.isGoodUntil } ?? true
        }
        for tenant in stale { counts[tenant]?.added = 0 }
        return Array(stale)
    }

    package mutating func counted(_ waiting: Int, of tenant: Tenant.ID, since start: Instant, at now: Instant) {
        let added = max(0, counts[tenant]?.added ?? 0)
        counts[tenant] = Count(
            waiting: waiting + added, added: added, startedAt: start,
            isGoodUntil: now + (now - start) * Self.restFactor)
    }

    /// The tenants whose counts others may have added to; forgets those that store nothing and ask nothing here.
    package mutating func due(at now: Instant) -> Set<Tenant.ID> {
        let old = counts.filter { now - $0.value.startedAt >= Self.interval }
        for (tenant, count) in old where !count.isUsed { counts[tenant] = nil }
        return Set(old.filter { $0.value.isUsed }.keys)
    }
}
