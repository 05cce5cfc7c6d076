import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// The jobs that run on a node, and how they are stopped and held.
@Suite struct RunningJobsTests {
    private let clock = ManualClock()
    private let slots = Slots(count: 16) { _ in 1 }

    private func running() -> RunningJobs { RunningJobs(slots, clock: clock.clock) }

    @Test func `a job is this node's until what came of it is stored`() throws {
        let running = running()
        let job = try ClaimedJob.make()
        let stop = running.add(job)
        #expect(running.count == 1)
        running.end(job.id, stop)
        #expect(running.count == 0)
        #expect(running.endingCount == 1)
        #expect(running.ids == [job.id])
        running.letGo(of: stop)
        #expect(running.ids.isEmpty)
    }

    @Test func `the end of an attempt leaves a newer one of the same job alone`() throws {
        let running = running()
        let job = try ClaimedJob.make()
        let first = running.add(job)
        let second = running.add(job)
        running.end(job.id, first)
        #expect(running.count == 1)
        running.stop(job.id, .leaseLost)
        #expect(second.reason != nil)
        #expect(first.reason == nil)
    }

    @Test func `one is stopped, or all`() throws {
        let running = running()
        let jobs = try (0..<3).map { _ in try ClaimedJob.make() }
        let stops = jobs.map(running.add)
        running.stop(jobs[0].id, .cancelled(.plainly))
        #expect(stops.map { $0.reason != nil } == [true, false, false])
        running.stopAll(.drained)
        #expect(stops.allSatisfy { $0.reason != nil })
        guard case .cancelled = stops[0].reason else { return #expect(Bool(false), "the first reason counts") }
    }

    @Test func `jobs whose time is over are stopped, and the next time is known`() throws {
        let running = running()
        let now = clock.date
        let times = [now.advanced(by: .seconds(10)), now.advanced(by: .seconds(20)), nil]
        let stops = try times.map { running.add(try .make(expiresAt: $0)) }
        #expect(running.untilDeadline() == .seconds(10))
        running.stopExpired()
        #expect(stops.allSatisfy { $0.reason == nil })
        clock.advance(by: .seconds(15))
        running.stopExpired()
        #expect(stops.map { $0.reason != nil } == [true, false, false])
        #expect(running.untilDeadline() == .seconds(5))
        clock.advance(by: .seconds(15))
        #expect(running.untilDeadline() == nil)
    }

    @Test func `those that are held end when the node stops`() throws {
        let running = running()
        let jobs = try (0..<2).map { _ in try ClaimedJob.make() }
        slots.admit(jobs)
        let stops = jobs.map(running.add)
        _ = running.setSuspended([jobs[0].id], true)
        #expect(running.suspendedCount == 1)
        running.stopSuspended(.drained)
        #expect(stops.map { $0.reason != nil } == [true, false])
    }

    @Test func `the database says which are held, and who goes on takes its slot first`() throws {
        let running = running()
        let jobs = try (0..<2).map { _ in try ClaimedJob.make() }
        slots.admit(jobs)
        let stops = jobs.map(running.add)
        _ = running.setSuspended([jobs[0].id], true)
        clock.advance(by: .seconds(1))
        let lent = running.setSuspended(only: [jobs[1].id], asOf: clock.now)
        #expect(lent?.limiters == [try #require(jobs[1].originQueue?.limiter)])
        #expect(stops.map(\.isSuspended) == [false, true])
        #expect(running.suspendedCount == 1)
    }

    @Test func `an answer of the database that is older than a client's word does not count`() throws {
        let running = running()
        let job = try ClaimedJob.make()
        slots.admit([job])
        let stop = running.add(job)
        let asked = clock.now
        clock.advance(by: .milliseconds(1))
        _ = running.setSuspended([job.id], true)
        #expect(running.setSuspended(only: [], asOf: asked) == nil)
        #expect(stop.isSuspended)
        #expect(running.setSuspended(only: [], asOf: clock.now) != nil)
        #expect(!stop.isSuspended)
    }
}
