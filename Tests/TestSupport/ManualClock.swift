package import FetchJobs
package import FetchRuntime
import Synchronization

/// A clock that stands still until a test moves it.
package final class ManualClock: Sendable {
    private struct Sleeper {
        let deadline: ContinuousClock.Instant
        /// How long it was to sleep when it fell asleep.
        var length = Duration.zero
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = ContinuousClock.now
        var date = Timestamp.now
        var sleepers: [Int: Sleeper] = [:]
        var nextNumber = 0
        /// Those that were cancelled before they slept.
        var cancelled: Set<Int> = []
        var waiters: [(isOver: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var now: ContinuousClock.Instant { state.withLock { $0.now } }

    package var date: Timestamp { state.withLock { $0.date } }

    /// How many sleep.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    package var clock: NodeClock {
        NodeClock(now: { self.now }, date: { self.date }, sleepUntil: { try await self.sleep(until: $0) })
    }

    /// Moves time, and wakes whoever has slept long enough.
    package func advance(by time: Duration) {
        let due = state.withLock { state in
            state.now += time
            state.date = state.date.advanced(by: time)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns when so many sleep.
    package func untilAsleep(_ count: Int = 1) async { await wait { $0.sleepers.count >= count } }

    /// Returns when somebody sleeps for just so long.
    package func untilAsleep(for time: Duration) async {
        await wait { state in state.sleepers.values.contains { $0.length == time } }
    }

    private func wait(until isOver: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if isOver(state) { return true }
                state.waiters.append((isOver, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    private func sleep(until deadline: ContinuousClock.Instant) async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                sleep(number, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func sleep(_ number: Int, _ sleeper: Sleeper) {
        typealias Waiters = [CheckedContinuation<Void, Never>]
        let (isCancelled, isDue, waiters) = state.withLock { state -> (Bool, Bool, Waiters) in
            if state.cancelled.remove(number) != nil { return (true, false, []) }
            if sleeper.deadline <= state.now { return (false, true, []) }
            state.sleepers[number] = sleeper
            state.sleepers[number]?.length = sleeper.deadline - state.now
            let over = state.waiters.filter { $0.isOver(state) }.map(\.continuation)
            let rest = state.waiters.filter { !$0.isOver(state) }
            state.waiters = rest
            return (false, false, over)
        }
        if isCancelled { sleeper.continuation.resume(throwing: CancellationError()) }
        if isDue { sleeper.continuation.resume() }
        for waiter in waiters { waiter.resume() }
    }
}
