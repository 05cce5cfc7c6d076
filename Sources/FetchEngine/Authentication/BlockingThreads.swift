import DequeModule
import Glibc
import Synchronization

/// Threads for calls that may block for long on a server, because the tasks of the process share a few threads.
///
/// There are few, and fewer for each group, so a group whose servers hang leaves threads to the others. Calls that find
/// no thread wait in the line of their group, which is of bounded length; the next thread is for the group that has the
/// fewest. No caller waits longer than its deadline, even if a call that has begun cannot be interrupted.
final class BlockingThreads: Sendable {
    private struct Item {
        let group: String
        let ticket: UInt64
        let body: @Sendable () -> Void
    }

    private struct State {
        var running = 0
        var runningByGroup: [String: Int] = [:]
        /// The calls of each group that wait, the first to come in front; none is empty.
        var lines: [String: Deque<Item>] = [:]
        var lastTicket: UInt64 = 0

        /// Takes the next call: of the groups that may have one more thread, that of one with the fewest, and of equals
        /// the one that has waited the longest.
        mutating func takeNext(maximumPerGroup: Int) -> Item? {
            var best: (count: Int, ticket: UInt64, group: String)?
            for (group, line) in lines {
                let count = runningByGroup[group, default: 0]
                guard count < maximumPerGroup, let first = line.first else { continue }
                if let best, (best.count, best.ticket) < (count, first.ticket) { continue }
                best = (count, first.ticket, group)
            }
            guard let best, let item = lines[best.group]?.popFirst() else { return nil }
            if lines[best.group]?.isEmpty ?? true { lines[best.group] = nil }
            runningByGroup[best.group] = best.count + 1
            return item
        }
    }

    private let maximum: Int
    private let maximumPerGroup: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())

    /// How many calls have no thread yet.
    var waiting: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.count } } }

    /// - Parameter maximumWaiting: How many calls of a group may have no thread.
    init(maximum: Int = 8, maximumPerGroup: Int = 2, maximumWaiting: Int = 256) {
        self.maximum = maximum
        self.maximumPerGroup = maximumPerGroup
        self.maximumWaiting = maximumWaiting
    }

    /// Runs a body on one of the threads.
    ///
    /// - Parameters:
    ///   - patience: How long it may take, its time in the line included but for `turn`.
    ///   - turn: How long it may wait for a thread without loss of patience.
    /// - Returns: Nil when the line is full, when it took too long, and when the task was cancelled.
    func run<Value: Sendable>(
        in group: String, patience: Duration, turn: Duration = .zero, _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        let answer = Answer<Value>()
        guard enqueue({ if answer.begin() { answer.deliver(body()) } }, in: group) else { return nil }
        let start = ContinuousClock.now
        return await withTaskGroup(of: Value?.self) { tasks in
            tasks.addTask { await answer.value() }
            tasks.addTask {
                var end = start + patience
                while end > .now {
                    // Cancelled, it is not waited for any longer either.
                    do { try await Task.sleep(until: end) } catch { return nil }
                    end = min(answer.beginning ?? .now, start + turn) + patience
                }
                return nil
            }
            let first = await tasks.next() ?? nil
            tasks.cancelAll()
            return first
        }
    }

    private func enqueue(_ body: @escaping @Sendable () -> Void, in group: String) -> Bool {
        let (isTaken, needsThread) = state.withLock { state in
            guard state.lines[group]?.count ?? 0 < maximumWaiting else { return (false, false) }
            state.lastTicket += 1
            state.lines[group, default: []].append(Item(group: group, ticket: state.lastTicket, body: body))
            let needsThread = state.running < maximum && state.runningByGroup[group, default: 0] < maximumPerGroup
            if needsThread { state.running += 1 }
            return (true, needsThread)
        }
        if needsThread { startThread { [self] in work() } }
        return isTaken
    }

    /// The life of a thread: it takes permitted work until nothing is left.
    private func work() {
        var group: String?
        while let item = next(after: group) {
            item.body()
            group = item.group
        }
    }

    /// The next call whose group has a thread left; nil ends the thread that asks.
    private func next(after group: String?) -> Item? {
        state.withLock { state in
            if let group, let count = state.runningByGroup[group] {
                state.runningByGroup[group] = count > 1 ? count - 1 : nil
            }
            let item = state.takeNext(maximumPerGroup: maximumPerGroup)
            if item == nil { state.running -= 1 }
            return item
        }
    }
}

/// The result of a thread, and its waiting caller.
private final class Answer<Value: Sendable>: Sendable {
    private enum State {
        case pending
        case awaited(CheckedContinuation<Value?, Never>)
        case delivered(Value)
        case abandoned
    }

    private let state = Mutex(State.pending)
    private let begun = Mutex<ContinuousClock.Instant?>(nil)

    /// When the thread had it; nil while it waits for one.
    var beginning: ContinuousClock.Instant? { begun.withLock { $0 } }

    /// Notes that the thread has it.
    ///
    /// - Returns: Whether a caller still waits for the result.
    func begin() -> Bool {
        begun.withLock { $0 = .now }
        return state.withLock { if case .abandoned = $0 { false } else { true } }
    }

    func deliver(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            switch state {
            case .awaited(let waiter):
                state = .delivered(value)
                return waiter
            case .pending:
                state = .delivered(value)
                return nil
            case .delivered, .abandoned: return nil
            }
        }
        waiter?.resume(returning: value)
    }

    /// Nil when the task that asks is cancelled first.
    func value() async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Value?? in
                    switch state {
                    case .pending:
                        state = .awaited(continuation)
                        return nil
                    case .delivered(let value): return .some(value)
                    case .awaited, .abandoned: return .some(nil)
                    }
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            abandon()
        }
    }

    private func abandon() {
        let waiter = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            switch state {
            case .awaited(let waiter):
                state = .abandoned
                return waiter
            case .pending:
                state = .abandoned
                return nil
            case .delivered, .abandoned: return nil
            }
        }
        waiter?.resume(returning: nil)
    }
}
