import FetchJobs
import TestSupport
import Testing

@testable import FetchWorker

@Suite struct EphemeralBudgetTests {
    @Test func `a tenant may have as much as it leaves free, and gives it back`() {
        var budget = EphemeralBudget(100)
        #expect(budget.allows(50, of: .first) && !budget.allows(51, of: .first))
        budget.charge(50, to: .first)
        #expect(!budget.allows(1, of: .first))
        #expect(budget.allows(25, of: .second) && !budget.allows(26, of: .second))
        budget.charge(25, to: .second)
        #expect(budget.allows(12, of: Tenant.ID(rawValue: 3)))
        budget.charge(-50, to: .first)
        #expect(budget.part(of: .first) == 0 && budget.part(of: .second) == 25)
        #expect(budget.allows(37, of: .first) && !budget.allows(38, of: .first))
    }
}
