import FetchJobs
import FetchRuntime
import Testing

/// When the jobs of a tenant wait for too long.
@Suite struct QueueDelaysTests {
    private let start = ContinuousClock.now
    private let tenant = Tenant.ID(rawValue: 1)
    private let other = Tenant.ID(rawValue: 2)

    /// One job a second is claimed for so long, after these waits.
    private func claim(_ delays: QueueDelays, _ seconds: Range<Int>, _ waits: Int...) {
        for second in seconds {
            for wait in waits { delays.note(.seconds(wait), of: tenant, at: start + .seconds(second)) }
        }
    }

    // Proves: REL-12.
    @Test func `jobs that all have waited for long for a while are too many`() {
        let delays = QueueDelays()
        claim(delays, 0..<10, 301)
        #expect(!delays.areTooLong(for: tenant, at: start + .seconds(10)))
        claim(delays, 10..<20, 301)
        #expect(delays.areTooLong(for: tenant, at: start + .seconds(20)))
        #expect(!delays.areTooLong(for: other, at: start + .seconds(20)))
    }

    @Test func `some that wait for long are not`() {
        let delays = QueueDelays()
        claim(delays, 0..<30, 3000, 299)
        #expect(!delays.areTooLong(for: tenant, at: start + .seconds(30)))
    }

    @Test func `a job that starts at once ends it`() {
        let delays = QueueDelays()
        claim(delays, 0..<20, 301)
        delays.note(.zero, of: tenant, at: start + .seconds(20))
        #expect(!delays.areTooLong(for: tenant, at: start + .seconds(20)))
    }

    @Test func `what was long ago says nothing`() {
        let delays = QueueDelays()
        claim(delays, 0..<20, 301)
        #expect(!delays.areTooLong(for: tenant, at: start + .seconds(30)))
        claim(delays, 30..<31, 301)
        #expect(!delays.areTooLong(for: tenant, at: start + .seconds(31)))
    }
}
