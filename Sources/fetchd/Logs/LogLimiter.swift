import Logging

/// Keeps equal messages from filling the log: what fails ten thousand times at once is not written ten thousand times.
///
/// Of each message of a level, ``burst`` lines are let through in a ``window``; the others are counted. Messages are
/// constant texts of the source, so there are few; should there be more than ``capacity``, further ones count together.
struct LogLimiter {
    static let burst = 50
    static let window = Duration.seconds(10)
    static let capacity = 256

    struct Key: Hashable {
        let level: Logger.Level
        /// Empty for all those that have no place of their own.
        let message: String
    }

    /// Lines that were left out.
    struct Suppressed: Equatable {
        let key: Key
        let count: Int
    }

    private struct Entry {
        var end: ContinuousClock.Instant
        var count = 0
    }

    private var entries: [Key: Entry] = [:]

    /// Whether a line is to be written.
    mutating func admits(_ level: Logger.Level, _ message: String, now: ContinuousClock.Instant) -> Bool {
        var key = Key(level: level, message: message)
        if entries[key] == nil, entries.count >= Self.capacity { key = Key(level: level, message: "") }
        var entry = entries[key] ?? Entry(end: now + Self.window)
        // Nothing is to be told of a window in which nothing was left out.
        if entry.end <= now, entry.count <= Self.burst { entry = Entry(end: now + Self.window) }
        entry.count += 1
        entries[key] = entry
        return entry.count <= Self.burst
    }

    /// What was left out in the windows that have ended, each told once.
    ///
    /// - Parameter isLast: Whether those that go on are told too.
    mutating func takeSuppressed(now: ContinuousClock.Instant, isLast: Bool = false) -> [Suppressed] {
        let over = entries.filter { isLast || $0.value.end <= now }
        for key in over.keys { entries[key] = nil }
        return over.filter { $0.value.count > Self.burst }
            .map { Suppressed(key: $0.key, count: $0.value.count - Self.burst) }
            .sorted { ($0.key.level, $0.key.message) < ($1.key.level, $1.key.message) }
    }
}
