import DequeModule
import Glibc
import Synchronization

/// Threads for calls that may block for long on a server, because the tasks of the process share a few threads.
///
/// There are few, and fewer for each group, so a group whose servers hang leaves threads to the others; and half of them
/// are for groups that have none, so several such groups do, too. Calls that find no thread wait in the line of their
/// group, which is of bounded length; the next thread is for the group that has the fewest. No caller waits longer than
/// its deadline, even if a call that has begun cannot be interrupted.
final class BlockingThreads: Sendable {
    private struct Item {
        let group: String
        let ticket: UInt64
        let body: @Sendable () -> Void
    }

    private struct State {
        let maximum: Int
        let maximumPerGroup: Int
        /// The threads, of which those that have just begun, or ended a call, have none.
        var running = 0
        /// The calls that have a thread.
        var begun = 0
        var begunByGroup: [String: Int] = [:]
        /// The calls of each group that wait, the first to come in front; none is empty.
        var lines: [String: Deque<Item>] = [:]
        var lastTicket: UInt64 = 0

        /// Whether a group that has so many threads may have one more: its first, or one of the half that is for all.
        func allowsOneMore(than count: Int) -> Bool {
            count == 0 ? begun < maximum : begun < maximum - maximum / 2 && count < maximumPerGroup
        }

        /// Takes the next call: of the groups that may have one more thread, that of one with the fewest, and of equals
        /// the one that has waited the longest.
        mutating func takeNext() -> Item? {
            var best: (count: Int, ticket: UInt64, group: String)?
            for (group, line) in lines {
                let count = begunByGroup[group, default: 0]
                guard allowsOneMore(than: count), let first = line.first else { continue }
                if let best, (best.count, best.ticket) < (count, first.ticket) { continue }
                best = (count, first.ticket, group)
            }
            guard let best, let item = lines[best.group]?.popFirst() else { return nil }
            if lines[best.group]?.isEmpty ?? true { lines[best.group] = nil }
            begunByGroup[best.group] = best.count + 1
            begun += 1
            return item
        }

        mutating func noteEnd(in group: String) {
            guard let count = begunByGroup[group] else { return }
            begunByGroup[group] = count > 1 ? count - 1 : nil
            begun -= 1
        }
    }

    private let maximumWaiting: Int
    private let state: Mutex<State>

    /// How many calls have no thread yet.
    var waiting: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.count } } }

    /// - Parameter maximumWaiting: How many calls of a group may have no thread.
    init(maximum: Int = 8, maximumPerGroup: Int = 2, maximumWaiting: Int = 256) {
        self.maximumWaiting = maximumWaiting
        state = Mutex(State(maximum: maximum, maximumPerGroup: maximumPerGroup))
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
            let needsThread =
                state.running < state.maximum && state.allowsOneMore(than: state.begunByGroup[group, default: 0])
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
            if let group { state.noteEnd(in: group) }
            let item = state.takeNext()
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
