import FetchJobs
import FetchRuntime
import TestSupport
import Testing

/// The events of a job that are kept while it runs.
@Suite struct LiveJobEventTests {
    private func live() throws -> LiveJob {
        LiveJobs().add(ClaimedJob(id: Job.ID(), tenant: Tenant.ID(rawValue: 1), spec: try .make(), claim: 1))
    }

    /// Notes a response with so many bytes of fields.
    private func noteResponse(of count: Int, in live: LiveJob) {
        live.note(.response) { $0.member("headers", String(repeating: "x", count: count)) }
    }

    @Test func `the oldest events go when there are more than 256`() throws {
        let live = try live()
        for _ in 0..<300 { noteResponse(of: 1, in: live) }
        #expect(live.events(after: nil).map(\.position.number) == Array(46...301))
    }

    @Test func `the oldest events go when they have more than 256 KiB`() throws {
        let live = try live()
        for _ in 0..<100 { noteResponse(of: 32_768, in: live) }
        let events = live.events(after: nil)
        #expect(events.map(\.position.number) == Array(95...101))
        #expect(events.reduce(0) { $0 + $1.data.bytes.count } <= 262_144)
    }

    @Test func `an event that alone is longer than all may be is kept`() throws {
        let live = try live()
        noteResponse(of: 300_000, in: live)
        #expect(live.events(after: nil).map(\.position.number) == [2])
    }
}
