package import FetchJobs
import FetchRuntime
import Synchronization

/// The questions that loads of this node wait for, and how each of them ends.
package final class OpenQuestions: Sendable {
    /// The event on which a load that waits goes on.
    enum End: Sendable {
        case known(QuestionEnd)
        /// The job is to stop: nothing is waited for.
        case stopped
    }

    private struct Entry {
        let key: QuestionKey
        /// When to close it unless it is answered; nil until that is known.
        var deadline: ContinuousClock.Instant?
        var end: End?
        var continuation: CheckedContinuation<End, Never>?
        /// How its load is parked, and when; nil where it is not.
        var parking: (time: ContinuousClock.Instant, park: @Sendable () async -> Void)?
        /// Whether its load is being parked: its end waits for the result of that.
        var isParking = false
        /// Whether its endpoint is to be asked again.
        var isBeingAsked = false
    }

    private let entries = Mutex<[Question.ID: Entry]>([:])

    /// Those that other nodes say have ended, or may have.
    let told: AsyncStream<[QuestionKey]>
    private let telling: AsyncStream<[QuestionKey]>.Continuation

    package init() { (told, telling) = AsyncStream.makeStream() }

    /// Other nodes have ended questions.
    ///
    /// - Parameter ids: Nil for any.
    package func noteEnds(of ids: [Question.ID]?) {
        let keys = ids.map { ids in
            entries.withLock { entries in ids.compactMap { entries[$0] }.filter { $0.end == nil }.map(\.key) }
        }
        telling.yield(keys ?? self.keys)
    }

    var count: Int { entries.withLock { $0.count } }

    var keys: [QuestionKey] { entries.withLock { $0.values.filter { $0.end == nil }.map(\.key) } }

    /// Whether a load waits for the answer.
    func isOpen(_ id: Question.ID) -> Bool {
        entries.withLock { entries in entries[id].map { $0.end == nil } ?? false }
    }

    /// Begins before the question can be answered, so that no answer is missed.
    func begin(_ key: QuestionKey) { entries.withLock { $0[key.id] = Entry(key: key) } }

    func setDeadline(_ time: ContinuousClock.Instant, of id: Question.ID) {
        entries.withLock { $0[id]?.deadline = time }
    }

    /// Nobody waits for it.
    func forget(_ id: Question.ID) { entries.withLock { _ = $0.removeValue(forKey: id) } }

    /// Questions have ended, here or elsewhere; the first end counts.
    package func finish(_ ends: [Question.ID: QuestionEnd]) {
        for (id, end) in ends { finish(id, .known(end)) }
    }

    func finish(_ id: Question.ID, _ end: End) {
        let continuation = entries.withLock { entries -> CheckedContinuation<End, Never>? in
            guard let entry = entries[id], entry.end == nil else { return nil }
            entries[id]?.end = end
            return entry.isParking ? nil : entries[id]?.continuation.take()
        }
        continuation?.resume(returning: end)
    }

    /// Waits until a question has ended, and forgets it.
    ///
    /// - Parameter stop: The switch that ends the wait.
    nonisolated(nonsending) func end(of id: Question.ID, _ stop: StopSwitch) async -> End {
        stop.whenThrown { [weak self] in self?.finish(id, .stopped) }
        let end = await withCheckedContinuation { continuation in
            let known = entries.withLock { entries -> End? in
                guard let entry = entries[id] else { return .stopped }
                if entry.end != nil, !entry.isParking { return entry.end }
                entries[id]?.continuation = continuation
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        forget(id)
        return end
    }

    /// Says whether the endpoint of a question is to be asked, once more perhaps.
    func setBeingAsked(_ isBeingAsked: Bool, _ id: Question.ID) {
        entries.withLock { $0[id]?.isBeingAsked = isBeingAsked }
    }

    func isBeingAsked(_ id: Question.ID) -> Bool { entries.withLock { $0[id]?.isBeingAsked ?? false } }

    // MARK: Parking

    func setParking(
        after time: ContinuousClock.Instant, of id: Question.ID, _ park: @escaping @Sendable () async -> Void
    ) {
        entries.withLock { $0[id]?.parking = (time, park) }
    }

    /// How those are parked whose time for it has come; each once.
    ///
    /// - Parameter now: Nil for all of them.
    func dueForParking(at now: ContinuousClock.Instant?) -> [@Sendable () async -> Void] {
        entries.withLock { entries in
            let due = entries.filter { _, entry in
                entry.end == nil && entry.parking.map { parking in now.map { parking.time <= $0 } ?? true } ?? false
            }
            return due.compactMap { id, entry in
                entries[id]?.parking = nil
                return entry.parking?.park
            }
        }
    }

    /// Has the end of a question wait until its load is parked, or is not.
    ///
    /// - Returns: false when it has ended.
    func beginParking(_ id: Question.ID) -> Bool {
        entries.withLock { entries in
            guard let entry = entries[id], entry.end == nil else { return false }
            entries[id]?.isParking = true
            return true
        }
    }

    /// Its load goes on by the end that is known, or waits for it.
    func endParking(_ id: Question.ID) {
        let (continuation, end) = entries.withLock { entries -> (CheckedContinuation<End, Never>?, End?) in
            entries[id]?.isParking = false
            guard let end = entries[id]?.end else { return (nil, nil) }
            return (entries[id]?.continuation.take(), end)
        }
        if let end { continuation?.resume(returning: end) }
    }

    // MARK: Deadlines

    /// When the next of the open ones needs an action.
    var nextTime: ContinuousClock.Instant? {
        entries.withLock { entries in
            entries.values.lazy.filter { $0.end == nil }
                .compactMap { entry in [entry.deadline, entry.parking?.time].compactMap { $0 }.min() }.min()
        }
    }

    /// Those whose deadline has passed.
    func overdue(at now: ContinuousClock.Instant) -> [QuestionKey] {
        entries.withLock { entries in
            entries.values.filter { entry in entry.end == nil && entry.deadline.map { $0 <= now } ?? false }.map(\.key)
        }
    }
}
