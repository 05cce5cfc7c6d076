import DequeModule
import EventLoop

/// Those who wait for something scarce, in the order they came, each for the same time.
///
/// On the loop's thread only.
final class WaitingLine<Value: Sendable> {
    enum Outcome: Sendable {
        case served(Value)
        case expired
        case dismissed
    }

    private struct Waiter {
        let deadline: MonotonicTime
        let answer: (Outcome) -> Void
    }

    private let patience: Duration
    private let loop: EventLoop
    private var waiters = Deque<Waiter>()
    /// One timer, for the first in line, since all wait equally long.
    private var timer: LoopTimer?
    private var isTimerSet = false

    init(patience: Duration, loop: EventLoop) {
        self.patience = patience
        self.loop = loop
    }

    var count: Int { waiters.count }

    func append(_ answer: @escaping (Outcome) -> Void) {
        waiters.append(Waiter(deadline: .now.advanced(by: patience), answer: answer))
        setTimer()
    }

    /// Gives the value to the first in line.
    ///
    /// - Returns: false when the line is empty.
    func serve(_ value: Value) -> Bool {
        guard let first = waiters.popFirst() else { return false }
        first.answer(.served(value))
        return true
    }

    /// Lets everybody wait no longer, as if the time were over.
    func expireAll() {
        while let waiter = waiters.popFirst() { waiter.answer(.expired) }
    }

    func dismissAll() {
        while let waiter = waiters.popFirst() { waiter.answer(.dismissed) }
    }

    private func setTimer() {
        guard !isTimerSet, let first = waiters.first else { return }
        let timer = timer ?? LoopTimer { [weak self] in self?.expire() }
        self.timer = timer
        isTimerSet = true
        loop.set(timer, for: first.deadline)
    }

    private func expire() {
        isTimerSet = false
        let now = MonotonicTime.now
        while let first = waiters.first, first.deadline <= now {
            waiters.removeFirst()
            first.answer(.expired)
        }
        setTimer()
    }
}
