import Synchronization

/// Rings at the earliest of the times that it was set to since it rang last.
package final class Alarm: Wakeable {
    private let next = Mutex<ContinuousClock.Instant?>(nil)
    private let times: AsyncStream<ContinuousClock.Instant>
    private let setting: AsyncStream<ContinuousClock.Instant>.Continuation

    package init() { (times, setting) = AsyncStream.makeStream() }

    package func wake() { set(after: .zero) }

    func set(after wait: Duration) {
        let time = ContinuousClock.now + max(wait, .zero)
        let isEarlier = next.withLock { next in
            if let next, next <= time { return false }
            next = time
            return true
        }
        if isEarlier { setting.yield(time) }
    }

    /// Rings until its task is cancelled; for one caller.
    func run(_ ring: @escaping @Sendable () async -> Void) async {
        await withDiscardingTaskGroup { group in
            for await time in times {
                group.addTask {
                    // Cancelled when the service stops, as the loop is then.
                    try? await Task.sleep(until: time)
                    if !Task.isCancelled, self.begins(at: time) { await ring() }
                }
            }
            group.cancelAll()
        }
    }

    /// Whether it is still this time that it is to ring at, and no earlier one.
    private func begins(at time: ContinuousClock.Instant) -> Bool {
        next.withLock { next in
            guard next == time else { return false }
            next = nil
            return true
        }
    }
}
