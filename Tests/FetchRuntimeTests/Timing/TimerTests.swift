import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// Timers, by a clock that the test moves.
@Suite struct TimerTests {
    private let clock = ManualClock()

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

    @Test func `a timer does not fire beside itself, and once for all that came meanwhile`() async throws {
        let timer = Timer(clock: clock.clock)
        let (begun, running, gate) = (Progress(), Progress(), Condition())
        try await withThrowingTaskGroup { group in
            group.addTask {
                await timer.run {
                    #expect(running.add(1) == 1)
                    if begun.add(1) == 1 { await gate.next() }
                    running.add(-1)
                }
            }
            timer.notify()
            try await until { begun.value == 1 }
            for delay in [0, 1, 2] { timer.set(after: .seconds(delay)) }
            clock.advance(by: .seconds(3))
            gate.signal()
            try await until { begun.value == 2 && running.value == 0 }
            group.cancelAll()
        }
        #expect(begun.value == 2)
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
}
