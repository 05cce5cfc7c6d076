import Glibc
import Synchronization

/// Threads for calls that may block for long on a server, because the tasks of the process share a few threads.
///
/// There are few, and fewer for each group, so a group whose servers hang leaves threads to the others. Calls that find
/// no thread wait in a queue of bounded length. No caller waits longer than its deadline, even if a call that has begun
/// cannot be interrupted.
final class BlockingThreads: Sendable {
    private struct Item {
        let group: String
        let body: @Sendable () -> Void
    }

    private struct State {
        var running = 0
        var runningByGroup: [String: Int] = [:]
        var line: [Item] = []
    }

    private let maximum: Int
    private let maximumPerGroup: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())

    init(maximum: Int = 8, maximumPerGroup: Int = 2, maximumWaiting: Int = 256) {
        self.maximum = maximum
        self.maximumPerGroup = maximumPerGroup
        self.maximumWaiting = maximumWaiting
    }

    /// Runs a body on one of the threads.
    ///
    /// - Returns: Nil when the line is full, when it took longer than `patience`, its time in the line included, and
    ///   when the task was cancelled.
    func run<Value: Sendable>(
        in group: String, patience: Duration, _ body: @escaping @Sendable () -> Value
    ) async -> Value? {
        let answer = Answer<Value>()
        let item = Item(group: group) { if answer.isAwaited { answer.deliver(body()) } }
        guard enqueue(item) else { return nil }
        return await withTaskGroup(of: Value?.self) { tasks in
            tasks.addTask { await answer.value() }
            tasks.addTask {
                // Cancelled, it is not waited for any longer either.
                try? await Task.sleep(for: patience)
                return nil
            }
            let first = await tasks.next() ?? nil
            tasks.cancelAll()
            return first
        }
    }

    private func enqueue(_ item: Item) -> Bool {
        let (isTaken, needsThread) = state.withLock { state in
            guard state.line.count < maximumWaiting else { return (false, false) }
            state.line.append(item)
            let needsThread = state.running < maximum && state.runningByGroup[item.group, default: 0] < maximumPerGroup
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

    /// The first in line whose group has a thread left; nil ends the thread that asks.
    private func next(after group: String?) -> Item? {
        state.withLock { state in
            if let group, let count = state.runningByGroup[group] {
                state.runningByGroup[group] = count > 1 ? count - 1 : nil
            }
            let index = state.line.firstIndex { state.runningByGroup[$0.group, default: 0] < maximumPerGroup }
            guard let index else {
                state.running -= 1
                return nil
            }
            let item = state.line.remove(at: index)
            state.runningByGroup[item.group, default: 0] += 1
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

    /// Whether a caller still waits for the result.
    var isAwaited: Bool {
        state.withLock { if case .abandoned = $0 { false } else { true } }
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
