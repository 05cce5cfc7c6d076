import FetchJobs
import FetchRuntime
import TestSupport
import Testing

/// How much of what a node has one tenant may have.
@Suite struct TenantBudgetTests {
    private let third = Tenant.ID(rawValue: 3)

    @Test func `a tenant may have as much as it leaves free, and gives it back`() {
        var budget = TenantBudget(100)
        #expect(budget.allows(50, of: .first) && !budget.allows(51, of: .first))
        budget.charge(50, to: .first)
        #expect(!budget.allows(1, of: .first))
        #expect(budget.allows(25, of: .second) && !budget.allows(26, of: .second))
        budget.charge(25, to: .second)
        #expect(budget.allows(12, of: third))
        budget.charge(-50, to: .first)
        #expect(budget.part(of: .first) == 0 && budget.part(of: .second) == 25)
        #expect(budget.allows(37, of: .first) && !budget.allows(38, of: .first))
    }

    @Test func `taken one by one, a tenant has half at most, the next one half of the rest, and a new one the last`() {
        var budget = TenantBudget(16)
        #expect(take(100, for: .first, of: &budget) == 8)
        #expect(take(100, for: .second, of: &budget) == 4)
        #expect(take(100, for: third, of: &budget) == 2)
        #expect(take(100, for: Tenant.ID(rawValue: 4), of: &budget) == 1)
        #expect(take(100, for: Tenant.ID(rawValue: 5), of: &budget) == 1)
        #expect(budget.free == 0 && !budget.allows(1, of: Tenant.ID(rawValue: 6)))
        // What one has given back is nobody's who has its share.
        budget.charge(-1, to: .second)
        #expect(take(1, for: .first, of: &budget) == 0)
        #expect(take(1, for: Tenant.ID(rawValue: 6), of: &budget) == 1)
    }

    private func take(_ count: Int, for tenant: Tenant.ID, of budget: inout TenantBudget) -> Int {
        (0..<count).count { _ in budget.take(1, for: tenant) }
    }
}
