/// Counts events that are the same, so that many of them become few entries.
///
/// An event is due at once when it is the first of its kind, and its repeats a minute later. A chain has a budget of
/// different events: ``burst`` at once and ``perMinute`` in the long run; what is beyond is counted by its action.
package struct AuditTally: Sendable {
    /// What is to be written.
    package struct Due: Sendable, Equatable {
        package let event: AuditEvent
        package let count: Int64
        package let first: Timestamp
        package let last: Timestamp

        package init(event: AuditEvent, count: Int64, first: Timestamp, last: Timestamp) {
            self.event = event
            self.count = count
            self.first = first
            self.last = last
        }
    }

    package static let burst = 60.0
    package static let perMinute = 6.0
    /// How long the same event is counted in one entry.
    package static let window = Duration.seconds(60)

    private struct Count {
        let begun: Timestamp
        var count: Int64 = 0
        var first: Timestamp
        var last: Timestamp
        var isWritten = false

        mutating func add(_ now: Timestamp) {
            if count == 0 { first = now }
            count += 1
            last = now
        }

        /// The same once it has been written: its repeats are counted from here.
        var written: Self {
            var written = self
            written.isWritten = true
            written.count = 0
            return written
        }
    }

    private struct Budget {
        var left: Double
        var at: Timestamp
    }

    private var counts: [AuditEvent: Count] = [:]
    private var budgets: [Tenant.ID: Budget] = [:]

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }

    package mutating func add(_ event: AuditEvent, at now: Timestamp) {
        var event = event
        // Requests that are counted together have no one id.
        event.actor.request = nil
        if counts[event] == nil, !spend(event.chain, now) {
            event = AuditEvent(event.action, of: event.chain, by: AuditActor(event.actor.kind))
        }
        counts[event, default: Count(begun: now, first: now, last: now)].add(now)
    }

    /// Takes what is due.
    ///
    /// - Parameter isLast: Everything is, for there will be no later time.
    package mutating func due(at now: Timestamp, isLast: Bool = false) -> [Due] {
        var due: [Due] = []
        for (event, count) in counts {
            let isOver = isLast || now >= count.begun.advanced(by: Self.window)
            guard isOver || !count.isWritten else { continue }
            if count.count > 0 {
                due.append(Due(event: event, count: count.count, first: count.first, last: count.last))
            }
            counts[event] = isOver ? nil : count.written
        }
        budgets = budgets.filter { Self.refilled($0.value, now) < Self.burst }
        return due.sorted { ($0.first, $0.event.action.rawValue) < ($1.first, $1.event.action.rawValue) }
    }

    /// Puts back what could not be written.
    package mutating func putBack(_ due: [Due]) {
        for one in due {
            var count = counts[one.event] ?? Count(begun: one.first, first: one.first, last: one.last)
            count.count += one.count
            count.first = min(count.first, one.first)
            count.last = max(count.last, one.last)
            count.isWritten = false
            counts[one.event] = count
        }
    }

    private mutating func spend(_ chain: Tenant.ID, _ now: Timestamp) -> Bool {
        let left = budgets[chain].map { Self.refilled($0, now) } ?? Self.burst
        guard left >= 1 else { return false }
        budgets[chain] = Budget(left: left - 1, at: now)
        return true
    }

    private static func refilled(_ budget: Budget, _ now: Timestamp) -> Double {
        let minutes = Double(max(0, now.microseconds - budget.at.microseconds)) / 60_000_000
        return min(burst, budget.left + minutes * perMinute)
    }
}
