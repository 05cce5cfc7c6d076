import EventLoop

/// Watches the deadlines of all transfers of a loop with one timer.
///
/// A transfer that moves bytes only notes the time. The sweep passes over all of them when the earliest deadline
/// may have come; ten thousand take less than a millisecond.
// Everything here is touched on the loop's thread alone.
final class DeadlineSweep {
    private let loop: EventLoop
    @exclusivity(unchecked) private var transfers: [Transfer] = []
    @exclusivity(unchecked) private var armed: MonotonicTime?
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.loop = loop
        timer = LoopTimer { [weak self] in self?.pass() }
    }

    func add(_ transfer: Transfer) {
        loop.assertOnLoop()
        transfer.sweepIndex = transfers.count
        transfers.append(transfer)
        noteDeadline(transfer.nextDeadline())
    }

    func remove(_ transfer: Transfer) {
        loop.assertOnLoop()
        let index = transfer.sweepIndex
        guard index >= 0 else { return }
        transfer.sweepIndex = -1
        let last = transfers.removeLast()
        guard last !== transfer else { return }
        transfers[index] = last
        last.sweepIndex = index
    }

    /// Makes sure that the next pass comes no later than this.
    func noteDeadline(_ deadline: MonotonicTime?) {
        loop.assertOnLoop()
        guard let deadline, let timer else { return }
        if let armed, armed <= deadline { return }
        armed = deadline
        loop.set(timer, for: deadline)
    }

    private func pass() {
        loop.assertOnLoop()
        armed = nil
        let now = MonotonicTime.now
        // Ending a transfer changes the list, so those are gathered first.
        let expired = transfers.filter { $0.nextDeadline().map { $0 <= now } ?? false }
        for transfer in expired { transfer.expire(at: now) }
        if let next = transfers.lazy.compactMap({ $0.nextDeadline() }).min() {
            let gap: Duration = transfers.count < 1000 ? .milliseconds(10) : .milliseconds(200)
            noteDeadline(max(next, now.advanced(by: gap)))
        }
    }
}
