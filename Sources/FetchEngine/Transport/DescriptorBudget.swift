import EventLoop
import Glibc
import Synchronization

/// How many descriptors the transfers of a loop may use, and how many they do (REL-11).
package final class DescriptorBudget: Sendable {
    /// How long to wait before asking again: others may give some back without our knowing it.
    package static let interval: Duration = .milliseconds(50)

    package let limit: Int
    private let onShortage: @Sendable () -> Void
    private let taken = Atomic<Int>(0)
    private let sockets = Atomic<Int>(0)
    private let locks = Atomic<Int>(0)
    private let waits = Atomic<Int>(0)
    private let shortages = Atomic<Int>(0)
    private let reportedAt = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - limit: How many there are.
    ///   - onShortage: Called on the loop's thread when loads begin to wait for some, once a minute at most.
    package init(
        limit: Int = DescriptorLimits.ofProcess.transfers, onShortage: @escaping @Sendable () -> Void = {}
    ) {
        self.limit = limit
        self.onShortage = onShortage
    }

    /// The descriptors in use or set apart.
    package var used: Int { taken.load(ordering: .relaxed) }
    /// The sockets of transfers that are open: connections in use, idle ones that are kept, and those being made.
    package var connections: Int { sockets.load(ordering: .relaxed) }
    /// The loads that wait for some.
    package var waiting: Int { waits.load(ordering: .relaxed) }
    /// How often loads began to wait.
    package var shortageCount: Int { shortages.load(ordering: .relaxed) }

    /// Whether connections that are idle had better go.
    var isScarce: Bool { used > limit / 4 * 3 }

    func take(_ count: Int) { taken.add(count, ordering: .relaxed) }

    func giveBack(_ count: Int) { taken.subtract(count, ordering: .relaxed) }

    /// Takes the descriptor of a socket that is there already.
    func opened() {
        take(1)
        sockets.add(1, ordering: .relaxed)
    }

    /// Gives the descriptor of a socket back.
    func closed() {
        giveBack(1)
        sockets.subtract(1, ordering: .relaxed)
    }

    /// Takes the descriptor of the lock of a download's place: a third of all, since the download needs two more.
    ///
    /// - Returns: Whether there was one.
    package func takeLock() -> Bool {
        guard locks.add(1, ordering: .relaxed).newValue <= max(1, limit / 3) else {
            locks.subtract(1, ordering: .relaxed)
            return false
        }
        take(1)
        return true
    }

    /// Gives the descriptor of a lock back.
    package func giveBackLock() {
        giveBack(1)
        locks.subtract(1, ordering: .relaxed)
    }

    /// Records how many loads wait now.
    func noteWaiting(_ count: Int) {
        guard waits.exchange(count, ordering: .relaxed) == 0, count > 0 else { return }
        shortages.add(1, ordering: .relaxed)
        let now = MonotonicTime.now.nanoseconds
        let last = reportedAt.load(ordering: .relaxed)
        guard last == 0 || now - last > 60_000_000_000 else { return }
        reportedAt.store(now, ordering: .relaxed)
        onShortage()
    }

    /// Whether the system has no descriptor left at the moment, in any process.
    static var isSystemExhausted: Bool {
        let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return errno == EMFILE || errno == ENFILE }
        close(descriptor)
        return false
    }
}
