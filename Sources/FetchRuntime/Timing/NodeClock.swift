package import FetchJobs

/// The clock that a node's worker reads and waits by; another one than the system's lets a test move time.
package struct NodeClock: Sendable {
    private let read: @Sendable () -> ContinuousClock.Instant
    private let readDate: @Sendable () -> Timestamp
    private let wait: @Sendable (ContinuousClock.Instant) async throws -> Void

    /// The system's.
    package static let continuous = NodeClock(
        now: { .now }, date: { .now }, sleepUntil: { try await Task.sleep(until: $0) })

    /// - Parameters:
    ///   - now: The time, for waits.
    ///   - date: The time of day, for deadlines that clients name.
    ///   - sleepUntil: Returns at a time, or throws when its task is cancelled.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        date: @escaping @Sendable () -> Timestamp,
        sleepUntil: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void
    ) {
        read = now
        readDate = date
        wait = sleepUntil
    }

    package var now: ContinuousClock.Instant { read() }

    package var date: Timestamp { readDate() }

    /// Waits for a time.
    ///
    /// - Throws: `CancellationError` when its task is cancelled meanwhile.
    package func sleep(for time: Duration) async throws { try await wait(now + time) }

    /// Waits until a time.
    ///
    /// - Throws: `CancellationError` when its task is cancelled meanwhile.
    package func sleep(until time: ContinuousClock.Instant) async throws { try await wait(time) }
}
