import Synchronization

/// The time by PostgreSQL's clock, by which jobs are due: that of a node may be wrong.
///
/// It is that of the last heartbeat with the time since by the monotonic clock, so that it does not follow who sets the
/// clock of the machine. Until the first one it is the machine's.
package enum DatabaseClock {
    private static let last = Mutex<(time: Timestamp, at: ContinuousClock.Instant)?>(nil)

    package static var now: Timestamp {
        guard let (time, instant) = last.withLock({ $0 }) else { return .now }
        return time.advanced(by: ContinuousClock.now - instant)
    }

    /// Notes what the database has answered.
    ///
    /// - Parameter instant: When it was asked, so that the time is never ahead of the database's.
    package static func note(_ time: Timestamp, askedAt instant: ContinuousClock.Instant) {
        last.withLock { $0 = (time, instant) }
    }
}
