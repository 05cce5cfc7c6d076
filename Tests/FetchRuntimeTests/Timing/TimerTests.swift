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
