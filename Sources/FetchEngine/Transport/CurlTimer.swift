import EventLoop

/// libcurl's one timer per multi handle, on the loop.
///
/// libcurl moves it with every transfer, mostly to later; a loop timer is set again only when it has to fire sooner.
final class CurlTimer {
    private let loop: EventLoop
    private let action: () -> Void
    @exclusivity(unchecked) private var deadline: MonotonicTime?
    /// Fires at once and often; apart from `later`, so that the far deadlines it displaces do not pile up.
    private lazy var soon = Entry(self)
    private lazy var later = Entry(self)

    private final class Entry {
        @exclusivity(unchecked) var armed: MonotonicTime?
        @exclusivity(unchecked) var timer: LoopTimer?

        init(_ owner: CurlTimer) {
            timer = LoopTimer { [weak self, weak owner] in
                self?.armed = nil
                owner?.fired()
            }
        }
    }

    init(loop: EventLoop, action: @escaping () -> Void) {
        self.loop = loop
        self.action = action
    }

    /// Sets it to a time from now, or clears it with -1.
    func set(_ milliseconds: Int) {
        loop.assertOnLoop()
        guard milliseconds >= 0 else {
            deadline = nil
            return
        }
        let deadline = MonotonicTime.now.advanced(by: .milliseconds(milliseconds))
        self.deadline = deadline
        arm(milliseconds <= 10 ? soon : later, for: deadline)
    }

    private func arm(_ entry: Entry, for deadline: MonotonicTime) {
        if let armed = entry.armed, armed <= deadline { return }
        guard let timer = entry.timer else { return }
        entry.armed = deadline
        loop.set(timer, for: deadline)
    }

    private func fired() {
        loop.assertOnLoop()
        guard let deadline else { return }
        guard deadline <= .now else { return arm(later, for: deadline) }
        self.deadline = nil
        action()
    }
}
