import FetchJobs
import FetchStorage
import Testing

/// R38: the order of tenants.
@Suite struct WeightedRoundRobinTests {
    private static func tenants(_ ids: Int64...) -> [Tenant.ID] { ids.map { Tenant.ID(rawValue: $0) } }

    /// Turns of these tenants, whose weights have been seen.
    private static func turns(_ weights: KeyValuePairs<Int64, Int>) -> WeightedRoundRobin {
        var turns = WeightedRoundRobin()
        turns.add(weights.map { Tenant.ID(rawValue: $0.key) })
        let shares = turns.next(weights.count)
        let taken = weights.map {
            (Tenant.ID(rawValue: $0.key), WeightedRoundRobin.Taken(count: 1, weight: $0.value))
        }
        turns.took(Dictionary(uniqueKeysWithValues: taken), of: shares)
        return turns
    }

    private static func counts(_ shares: [WeightedRoundRobin.Share]) -> [Int64: Int] {
        Dictionary(uniqueKeysWithValues: shares.map { ($0.tenant.rawValue, $0.count) })
    }

    // Proves: REL-14.
    @Test func `places are divided by weight, whatever is free at once`() {
        var turns = Self.turns([1: 3, 2: 1])
        #expect(Self.counts(turns.next(40)) == [1: 30, 2: 10])
        var singles: [Int64] = []
        for _ in 0..<8 { singles += turns.next(1).map(\.tenant.rawValue) }
        #expect(singles == [1, 1, 1, 2, 1, 1, 1, 2])
    }

    @Test func `a claim goes on where the one before ended`() {
        var turns = Self.turns([1: 1, 2: 1, 3: 1])
        #expect(Self.counts(turns.next(2)) == [1: 1, 2: 1])
        #expect(Self.counts(turns.next(2)) == [3: 1, 1: 1])
        #expect(Self.counts(turns.next(4)) == [2: 2, 3: 1, 1: 1])
    }

    @Test func `a tenant that has nothing left has no turn, and the others have its places`() {
        var turns = Self.turns([1: 1, 2: 1])
        turns.took([Tenant.ID(rawValue: 2): .init(count: 1, weight: 1)], of: turns.next(2))
        #expect(!turns.contains(Tenant.ID(rawValue: 1)))
        #expect(Self.counts(turns.next(5)) == [2: 5])
    }

    @Test func `a tenant that comes later is served after one turn of the others`() {
        var turns = Self.turns([5: 2])
        turns.add(Self.tenants(9, 5))
        #expect(turns.next(3).map(\.tenant) == Self.tenants(5, 9))
    }

    @Test func `unknown tenants are looked for between those that are known`() {
        var turns = WeightedRoundRobin()
        #expect(turns.gaps(behind: []) == [.whole])
        turns.add(Self.tenants(7, 3))
        let shares = turns.next(1)
        let (three, seven) = (Tenant.ID(rawValue: 3), Tenant.ID(rawValue: 7))
        #expect(shares.map(\.tenant) == [seven])
        #expect(
            turns.gaps(behind: shares) == [
                .init(after: seven, before: WeightedRoundRobin.Gap.whole.before),
                .init(after: WeightedRoundRobin.Gap.whole.after, before: three),
            ])
        #expect(turns.gaps(behind: turns.next(1)) == [.init(after: three, before: seven)])
    }
}
