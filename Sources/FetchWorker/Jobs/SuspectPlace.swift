import Synchronization

/// Where jobs run one after the other that are suspected of taking nodes down.
///
/// After a while the next one comes in all the same: what has run for so long is hardly the cause, and many long jobs
/// that were lost with two nodes by bad luck would otherwise take for ever.
final class SuspectPlace: Sendable {
    fileprivate struct State {
        var last = 0
        /// Whose place it is, and since when.
        var holder: Int?
        var since = ContinuousClock.now
        /// Those that wait, in order.
        var line: [Int] = []
        var continuations: [Int: CheckedContinuation<Void, Never>] = [:]
        /// Those that are to look again and have not waited yet.
        var called: Set<Int> = []
    }

    private let patience: Duration
    private let state = Mutex(State())

    init(patience: Duration = .seconds(60)) { self.patience = patience }

    /// Waits for the place.
    ///
    /// - Returns: What to give it back with; nil when the job is to stop.
    func enter(_ stop: StopSwitch) async -> Int? {
        let number = state.withLock { state in
            state.last += 1
            state.line.append(state.last)
            return state.last
        }
        while stop.reason == nil, !Task.isCancelled {
            guard let wait = take(number) else { return number }
            await withTaskGroup { group in
                group.addTask { await self.isCalled(number) }
                group.addTask { await stop.isThrown() }
                // Cancelled when something else comes first: nothing to tell anyone.
                group.addTask { try? await Task.sleep(for: wait) }
                await group.next()
                group.cancelAll()
            }
        }
        state.withLock { state in
            state.line.removeAll { $0 == number }
            return state.callFirst()
        }?.resume()
        return nil
    }

    /// Lets the next one in, once.
    func leave(_ number: Int) {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.holder == number else { return nil }
            state.holder = nil
            return state.callFirst()
        }?.resume()
    }

    /// - Returns: How long to wait before another look; nil when the place was taken.
    private func take(_ number: Int) -> Duration? {
        let (wait, next) = state.withLock { state -> (Duration?, CheckedContinuation<Void, Never>?) in
            guard state.line.first == number else { return (patience, nil) }
            let rest = state.holder == nil ? .zero : state.since + patience - .now
            guard rest <= .zero else { return (rest, nil) }
            state.line.removeFirst()
            (state.holder, state.since) = (number, .now)
            return (nil, state.callFirst())
        }
        next?.resume()
        return wait
    }

    private func isCalled(_ number: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.called.remove(number) == nil, !Task.isCancelled else { return true }
                    state.continuations[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.continuations.removeValue(forKey: number) }?.resume()
        }
    }
}

extension SuspectPlace.State {
    /// Has the first in the line look again.
    fileprivate mutating func callFirst() -> CheckedContinuation<Void, Never>? {
        guard let first = line.first else { return nil }
        if let continuation = continuations.removeValue(forKey: first) { return continuation }
        called.insert(first)
        return nil
    }
}
