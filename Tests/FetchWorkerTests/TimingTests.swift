import FetchJobs
import TestSupport
import Testing

@testable import FetchWorker

/// What a node does by its clock.
@Suite struct TimingTests {
    private let clock = ManualClock()

    // MARK: Timer

    @Test func `a timer fires at the earliest of its times, once`() async throws {
        let timer = Timer(clock: clock.clock)
        let fired = Progress()
        try await withThrowingTaskGroup { group in
            group.addTask { await timer.run { fired.add(1) } }
            timer.set(after: .seconds(10))
            timer.set(after: .seconds(5))
            timer.set(after: .seconds(20))
            await clock.untilAsleep(2)
            clock.advance(by: .seconds(5))
            try await until { fired.value == 1 }
            // Those that it was set to before it fired do not count.
            clock.advance(by: .seconds(60))
            timer.set(after: .seconds(1))
            await clock.untilAsleep(1)
            #expect(fired.value == 1)
            clock.advance(by: .seconds(1))
            try await until { fired.value == 2 }
            group.cancelAll()
        }
        #expect(fired.value == 2)
    }

    @Test func `a timer that is notified fires at once`() async throws {
        let timer = Timer(clock: clock.clock)
        let fired = Progress()
        timer.notify()
        try await withThrowingTaskGroup { group in
            group.addTask { await timer.run { fired.add(1) } }
            try await until { fired.value == 1 }
            group.cancelAll()
        }
    }

    // MARK: Quarantine

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

    // MARK: Queue age

    @Test func `the age of the oldest job grows while nobody looks`() {
        let age = QueueAge(clock: clock.clock)
        #expect(age.seconds == 0)
        age.note(.seconds(30), since: clock.now)
        clock.advance(by: .seconds(5))
        #expect(age.seconds == 35)
        age.note(nil, since: clock.now)
        #expect(age.seconds == 0)
    }

    @Test func `it is looked at again when the last look is old enough, and later when a look takes long`() {
        let age = QueueAge(clock: clock.clock)
        #expect(age.isOlder(than: .seconds(5)))
        age.note(.seconds(1), since: clock.now)
        #expect(!age.isOlder(than: .seconds(5)))
        clock.advance(by: .seconds(5))
        #expect(age.isOlder(than: .seconds(5)))
        let start = clock.now
        clock.advance(by: .seconds(10))
        age.note(.seconds(1), since: start)
        clock.advance(by: .seconds(5))
        #expect(!age.isOlder(than: .seconds(5)))
    }

    // MARK: Gates

    @Test func `limiters are due at once, after their time, or all together`() {
        let gates = Gates(clock: clock.clock)
        let hosts = ["a.example", "b.example"].map { Limiter.Address(tenant: .first, kind: .host, key: $0) }
        #expect(gates.take() == nil)
        #expect(gates.untilNext() == nil)
        gates.note([hosts[0]: .seconds(10), hosts[1]: .seconds(20)])
        #expect(gates.take() == nil)
        #expect(gates.untilNext() == .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(gates.take()?.limiters == [hosts[0]])
        gates.note([hosts[1]])
        #expect(gates.take()?.limiters == [hosts[1]])
        gates.note([hosts[0]: .seconds(10)])
        gates.note(nil)
        #expect(gates.untilNext() == .zero)
        let all = gates.take()
        #expect(all != nil && all?.limiters == nil)
        #expect(gates.take() == nil)
    }

    @Test func `of two times for a limiter the earlier counts`() {
        let gates = Gates(clock: clock.clock)
        let host = Limiter.Address(tenant: .first, kind: .host, key: "a.example")
        gates.note([host: .seconds(10)])
        gates.note([host: .seconds(20)])
        #expect(gates.untilNext() == .seconds(10))
    }
}
