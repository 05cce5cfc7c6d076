import FetchJobs
import Testing

@Suite struct FullScanBudgetTests {
    @Test func `a look is allowed when twenty times what the last one cost is over`() {
        var budget = FullScanBudget()
        let now = ContinuousClock.now
        #expect(budget.wait(at: now) <= .zero)
        budget.note(.milliseconds(3), at: now + .milliseconds(3))
        #expect(budget.wait(at: now + .milliseconds(13)) == .milliseconds(50))
        #expect(budget.wait(at: now + .milliseconds(63)) <= .zero)
    }
}
