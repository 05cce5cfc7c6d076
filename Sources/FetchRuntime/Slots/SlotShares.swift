package import FetchJobs

/// The shares of tenants in the slots of a node: each tenant has its weighted share while others want slots, and more
/// while they do not.
///
/// A reserve of an eighth is added to the slots. The more of its share a tenant has, the more of the reserve it leaves
/// free, so a tenant without a running job always finds a slot.
package struct SlotShares: Sendable {
    private struct Holding {
        var count: Int
        let weight: Int
    }

    /// How many tenants with limits of their own a claim is told of that hold no slot: each makes its statement longer.
    package static let maximumListed = 100

    /// How many slots one tenant alone may have.
    package let count: Int
    package let reserve: Int
    /// Below zero while jobs run that take a slot in any case.
    package private(set) var free: Int
    /// How many a tenant may have, whatever is free.
    package var limits = RunningLimits()
    /// How many nodes run jobs, this one among them: they divide the limits.
    package var nodes = 1
    private var holdings: [Tenant.ID: Holding] = [:]
    /// The sum of the weights of tenants that hold slots.
    private var weights = 0

    package init(count: Int) {
        self.count = count
        reserve = count / 8
        free = count + count / 8
    }

    package var tenants: some Collection<Tenant.ID> { holdings.keys }

    /// How many slots a tenant holds.
    func count(of tenant: Tenant.ID) -> Int { holdings[tenant]?.count ?? 0 }

    /// Nobody holds any.
    package var areFree: Bool { free >= count + reserve }

    /// How many more slots a tenant may take now.
    ///
    /// - Parameter weight: Of a tenant that holds none.
    package func room(of tenant: Tenant.ID, weight: @autoclosure () -> Int) -> Int {
        let holding = holdings[tenant] ?? Holding(count: 0, weight: weight())
        guard let part = limits.part(of: tenant, ofNodes: nodes) else { return room(of: holding) }
        return max(0, min(part - holding.count, room(of: holding)))
    }

    /// Whether there is a limit for a tenant.
    func isLimited(_ tenant: Tenant.ID) -> Bool { limits.part(of: tenant, ofNodes: nodes) != nil }

    /// How many slots each tenant may take that a claim finds jobs of and that holds none: one at least.
    ///
    /// Up to ``maximumListed`` tenants have a limit of their own there; when there are more, the least holds for all,
    /// until the next claim knows who they are.
    package var roomOfOthers: ClaimRoom {
        let part = { RunningLimits.part(of: $0, ofNodes: nodes) }
        let free = max(1, room(ofWeight: 1))
        let standard = limits.standard.map(part).map { min($0, free) } ?? free
        guard limits.own.count <= Self.maximumListed else {
            return ClaimRoom(ofOthers: min(standard, limits.leastOwn.map(part) ?? standard))
        }
        var room = ClaimRoom(ofOthers: standard)
        room.ofTenants = limits.own.mapValues { min(free, part($0)) }
        return room
    }

    /// How many slots a tenant may take that holds none.
    package func room(ofWeight weight: Int) -> Int { room(of: Holding(count: 0, weight: weight)) }

    private func room(of holding: Holding) -> Int {
        let all = weights + (holding.count == 0 ? holding.weight : 0)
        let (free, reserve, held) = (Double(free), Double(reserve), Double(holding.count))
        let share = Double(count) * Double(holding.weight) / Double(max(1, all))
        // The next one needs more free slots than the part of the reserve that corresponds to the tenant's used share.
        let ofReserve = min((free - reserve * held / share) / (1 + reserve / share), share - held)
        return max(0, Int(max(ofReserve, free - reserve).rounded(.up)))
    }

    // MARK: Taking

    /// Sets slots aside before their tenant is known.
    package mutating func setAside(_ count: Int) { free -= count }

    package mutating func putBack(_ count: Int) { free += count }

    /// Gives a tenant one of those that were set aside.
    package mutating func assign(to tenant: Tenant.ID, weight: @autoclosure () -> Int) {
        if let count = holdings[tenant]?.count {
            holdings[tenant]?.count = count + 1
        } else {
            let holding = Holding(count: 1, weight: max(1, weight()))
            holdings[tenant] = holding
            weights += holding.weight
        }
    }

    package mutating func take(for tenant: Tenant.ID, weight: @autoclosure () -> Int) {
        free -= 1
        assign(to: tenant, weight: weight())
    }

    package mutating func leave(_ tenant: Tenant.ID) {
        free += 1
        guard let holding = holdings[tenant] else { return }
        holdings[tenant]?.count -= 1
        guard holding.count == 1 else { return }
        holdings[tenant] = nil
        weights -= holding.weight
    }
}
