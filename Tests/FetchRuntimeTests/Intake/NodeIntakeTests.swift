import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// The jobs that the stores pass to the worker of a node, and when it takes them.
@Suite struct NodeIntakeTests {
    private let clock = ManualClock()

    private func intake(concurrency: Int = 16) -> NodeIntake {
        NodeIntake(concurrency: concurrency, lease: .seconds(15), limits: EqualLimits(), clock: clock.clock)
    }

    @Test func `a node whose lease may have run out takes no new jobs`() throws {
        let intake = intake()
        let jobs = [try NewJob.make()]
        #expect(intake.reserve(jobs) == [false])
        intake.noteLease()
        #expect(intake.isAlive)
        #expect(intake.reserve(jobs) == [true])
        clock.advance(by: .seconds(15))
        #expect(!intake.isAlive)
        #expect(intake.reserve(jobs) == [false])
    }

    @Test func `after an answer that was lost it is uncertain for a minute what is claimed`() throws {
        let intake = intake()
        #expect(!intake.hasUncertainCommits)
        intake.giveUp([])
        #expect(!intake.hasUncertainCommits)
        intake.noteLease()
        let jobs = [try NewJob.make()]
        #expect(intake.reserve(jobs) == [true])
        intake.giveUp(jobs)
        #expect(intake.slots.areEmpty)
        #expect(intake.hasUncertainCommits)
        clock.advance(by: .seconds(60))
        #expect(!intake.hasUncertainCommits)
    }

    // R3
    @Test func `a job is this node's while it is stored for it and waits for its turn on the loop`() throws {
        let intake = intake()
        intake.noteLease()
        let jobs = [try NewJob.make(), try NewJob.make(), try NewJob.make()]
        #expect(intake.reserve(jobs) == [true, true, true])
        #expect(intake.running.ids == Set(jobs.map(\.id)))
        intake.release([jobs[0]])
        intake.giveUp([jobs[1]])
        #expect(intake.running.ids == [jobs[2].id])
        let claimed = try ClaimedJob.make()
        intake.run([claimed])
        #expect(intake.running.ids == [jobs[2].id, claimed.id])
        let stop = intake.running.add(claimed)
        intake.running.end(claimed.id, stop)
        intake.running.letGo(of: stop)
        #expect(intake.running.ids == [jobs[2].id])
    }

    @Test func `jobs that were stored as this node's are run, and those of a node that closes are not taken`()
        async throws
    {
        let intake = intake()
        intake.noteLease()
        let job = try ClaimedJob.make()
        intake.start([job])
        intake.close()
        var started: [Job.ID] = []
        for await jobs in intake.started { started += jobs.map(\.id) }
        #expect(started == [job.id])
        #expect(intake.reserve([try NewJob.make()]) == [false])
    }

    @Test func `jobs of a tenant that has no room call no claim`() throws {
        let intake = intake(concurrency: 8)
        intake.slots.admit(try (0..<9).map { _ in try ClaimedJob.make() })
        intake.wake(for: [.first])
        #expect(intake.slots.reserveForClaim(maximum: 1) == nil)
        intake.wake(for: [.first, .second])
        #expect(intake.slots.reserveForClaim(maximum: 1) == nil, "no slot is free")
    }

    @Test func `a time after the next heartbeats is left to them`() async throws {
        let intake = intake()
        let fired = Progress()
        intake.wake(after: .seconds(15))
        intake.wake(after: .seconds(14))
        try await withThrowingTaskGroup { group in
            group.addTask { await intake.promotionTimer.run { fired.add(1) } }
            await clock.untilAsleep(1)
            clock.advance(by: .seconds(14))
            try await until { fired.value == 1 }
            group.cancelAll()
        }
    }
}
