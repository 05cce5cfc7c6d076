import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// When suspects come in.
@Suite struct QuarantineTests {
    private let clock = ManualClock()

    @Test func `suspects come in when none is tried, or those that are have run for a minute`() throws {
        let quarantine = Quarantine(clock: clock.clock)
        let job = try ClaimedJob.make()
        #expect(quarantine.isFree)
        quarantine.enter([job])
        #expect(quarantine.has(job.id))
        #expect(!quarantine.isFree)
        clock.advance(by: Quarantine.patience)
        #expect(!quarantine.isFree)
        clock.advance(by: .seconds(1))
        #expect(quarantine.isFree)
    }

    @Test func `the last suspect that leaves is told from the others`() throws {
        let quarantine = Quarantine(clock: clock.clock)
        let jobs = try (0..<2).map { _ in try ClaimedJob.make() }
        quarantine.enter(jobs)
        #expect(!quarantine.leave(jobs[0].id))
        #expect(quarantine.leave(jobs[1].id))
        #expect(!quarantine.leave(jobs[1].id))
        #expect(quarantine.isFree)
    }

    @Test func `nobody comes in while it rests`() {
        let quarantine = Quarantine(clock: clock.clock)
        quarantine.rest(for: .seconds(10))
        #expect(!quarantine.isFree)
        clock.advance(by: .seconds(10))
        #expect(quarantine.isFree)
    }
}
