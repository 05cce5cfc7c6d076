import FetchJobs
import FetchStorage
import Synchronization
import Testing

/// When a tenant's waiting jobs are counted, and the estimate between two counts (R3).
@Suite struct QuotaCountsTests {
    private let tenant = Tenant.ID(rawValue: 1)
    private let start = ContinuousClock.now

    /// Counts that took a millisecond.
    private func counted(_ waiting: Int, quota: Int) -> QuotaCounts {
        var counts = QuotaCounts { _ in quota }
        #expect(counts.begin([tenant], at: start) == [tenant])
        counts.counted(waiting, of: tenant, since: start, at: start + .milliseconds(1))
        return counts
    }

    @Test func `what is unlimited is never counted`() {
        var counts = QuotaCounts { _ in nil }
        #expect(counts.take(1000, of: tenant, at: start) == 1000)
        #expect(counts.begin([tenant], at: start).isEmpty)
        #expect(counts.due(at: start + .seconds(60)).isEmpty)
    }

    @Test func `jobs are counted first, and then what is stored is added`() {
        var counts = QuotaCounts { _ in 10 }
        #expect(counts.take(1, of: tenant, at: start) == nil)
        counts = counted(4, quota: 10)
        #expect(counts.take(5, of: tenant, at: start) == 5)
        counts.giveBack(2, of: tenant)
        #expect(counts.take(3, of: tenant, at: start) == 3)
    }

    @Test func `nothing is refused before it was counted again, but not at every refusal`() {
        var counts = counted(10, quota: 10)
        #expect(counts.take(1, of: tenant, at: start + .milliseconds(2)) == 0)
        #expect(counts.begin([tenant], at: start + .milliseconds(2)).isEmpty)
        let later = start + .milliseconds(12)
        #expect(counts.take(1, of: tenant, at: later) == nil)
        #expect(counts.begin([tenant], at: later) == [tenant])
        counts.counted(7, of: tenant, since: later, at: later)
        #expect(counts.takeCounted(5, of: tenant) == 3)
        #expect(counts.takeCounted(5, of: tenant) == 0)
    }

    @Test func `what is stored while a count is under way is not lost`() {
        var counts = counted(0, quota: 10)
        let later = start + .seconds(5)
        #expect(counts.take(4, of: tenant, at: later) == 4)
        #expect(counts.begin([tenant], at: later) == [tenant])
        #expect(counts.take(2, of: tenant, at: later) == 2)
        counts.counted(4, of: tenant, since: later, at: later)
        #expect(counts.takeCounted(10, of: tenant) == 4)
    }

    @Test func `tenants that go on storing jobs are counted again, others are forgotten`() {
        var counts = counted(0, quota: 10)
        #expect(counts.take(1, of: tenant, at: start) == 1)
        #expect(counts.due(at: start + .seconds(4)).isEmpty)
        #expect(counts.due(at: start + .seconds(5)) == [tenant])
        counts = counted(0, quota: 10)
        #expect(counts.due(at: start + .seconds(5)).isEmpty)
        #expect(counts.take(1, of: tenant, at: start) == nil)
    }

    @Test func `another quota than before counts at once`() {
        let quota = Mutex(4)
        var counts = QuotaCounts { _ in quota.withLock(\.self) }
        _ = counts.begin([tenant], at: start)
        counts.counted(3, of: tenant, since: start, at: start + .milliseconds(1))
        quota.withLock { $0 = 5 }
        #expect(counts.take(2, of: tenant, at: start) == 2)
    }
}
