import FetchJobs
import FetchRuntime
import Testing

/// The shares of tenants in the slots of a node.
@Suite struct SlotSharesTests {
    private func tenant(_ number: Int64) -> Tenant.ID { Tenant.ID(rawValue: number) }

    /// Takes slots for as long as there is room.
    private func fill(_ shares: inout SlotShares, _ tenant: Tenant.ID, weight: Int = 1) -> Int {
        var count = 0
        while shares.room(of: tenant, weight: weight) > 0 {
            shares.take(for: tenant, weight: weight)
            count += 1
        }
        return count
    }

    @Test func `one tenant alone has every slot but the reserve`() {
        var shares = SlotShares(count: 80)
        #expect(shares.room(of: tenant(1), weight: 1) == 80)
        #expect(fill(&shares, tenant(1)) == 80)
        #expect(shares.free == 10)
    }

    @Test(arguments: [1, 2, 7])
    func `few slots are all given out`(count: Int) {
        var shares = SlotShares(count: count)
        #expect(fill(&shares, tenant(1)) == count)
    }

    @Test func `one that has nothing finds a slot however many others have more than enough`() {
        var shares = SlotShares(count: 4096)
        var counts = [fill(&shares, tenant(1))]
        for number in 2...6 { counts.append(fill(&shares, tenant(Int64(number)))) }
        #expect(counts.allSatisfy { $0 > 0 }, "\(counts)")
        #expect(shares.free >= 0)
    }

    @Test func `what is left goes to tenants below their share until each has it by its weight`() {
        var shares = SlotShares(count: 800)
        _ = fill(&shares, tenant(1))
        _ = fill(&shares, tenant(2), weight: 3)
        var held = 800
        // Every slot that the first gives back, the second takes; the first gets nothing again.
        while held > 200 {
            shares.leave(tenant(1))
            held -= 1
            _ = fill(&shares, tenant(2), weight: 3)
            if held > 250 { #expect(shares.room(of: tenant(1), weight: 1) == 0) }
        }
        #expect(shares.room(of: tenant(2), weight: 3) <= 1)
    }

    @Test func `slots that were set aside are taken by those who come or put back`() {
        var shares = SlotShares(count: 16)
        shares.setAside(10)
        #expect(shares.free == 8)
        shares.assign(to: tenant(1), weight: 1)
        shares.putBack(9)
        #expect(shares.free == 17)
        shares.leave(tenant(1))
        #expect(shares.free == 18 && shares.tenants.isEmpty)
    }
}
