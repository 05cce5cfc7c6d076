import Synchronization

/// Whether a node that stops is to lose no more time: who stops it has asked for that again.
package final class ForcedStop: Sendable {
    private let isAsked = Mutex(false)

    package init() {}

    package var isForced: Bool { isAsked.withLock { $0 } }

    package func force() { isAsked.withLock { $0 = true } }

    /// Waits for a time, until the stop is forced, or until the caller is cancelled.
    package func sleep(for time: Duration) async throws {
        let deadline = ContinuousClock.now + time
        while !isForced, case let rest = deadline - ContinuousClock.now, rest > .zero {
            try await Task.sleep(for: min(rest, .milliseconds(20)))
        }
    }
}
