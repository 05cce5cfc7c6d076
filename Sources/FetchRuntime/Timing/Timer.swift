import Synchronization

/// Fires at the earliest of the times that it was set to since it fired last.
package final class Timer: Notifiable {
    private let clock: NodeClock
    private let next = Mutex<ContinuousClock.Instant?>(nil)
    private let times: AsyncStream<ContinuousClock.Instant>
    private let setting: AsyncStream<ContinuousClock.Instant>.Continuation

    package init(clock: NodeClock = .continuous) {
        self.clock = clock
        (times, setting) = AsyncStream.makeStream()
    }

    package func notify() { set(after: .zero) }

    package func set(after wait: Duration) {
        let time = clock.now + max(wait, .zero)
        let isEarlier = next.withLock { next in
            if let next, next <= time { return false }
            next = time
            return true
        }
        if isEarlier { setting.yield(time) }
    }

    /// Fires until its task is cancelled; for one caller.
    ///
    /// Not again before what it has fired is over: times that come meanwhile fire once then.
    package func run(_ fire: @escaping @Sendable () async -> Void) async {
        let due = Condition()
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in due.values { await fire() } }
            for await time in times {
                group.addTask {
                    // Cancelled when the service stops, as the loop is then.
                    try? await self.clock.sleep(until: time)
                    if !Task.isCancelled, self.begins(at: time) { due.signal() }
                }
            }
            group.cancelAll()
        }
    }

    /// Whether it is still set to this time, and to no earlier one.
    private func begins(at time: ContinuousClock.Instant) -> Bool {
        next.withLock { next in
            guard next == time else { return false }
            next = nil
            return true
        }
    }
}
