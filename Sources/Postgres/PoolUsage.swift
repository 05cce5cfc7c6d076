import Synchronization

/// How the connections of a client are used, for everybody to read.
package final class PoolUsage: Sendable {
    private let openCount = Atomic<Int>(0)
    private let idleCount = Atomic<Int>(0)
    private let openingCount = Atomic<Int>(0)
    private let waitingCount = Atomic<Int>(0)

    /// Connections that are open and wait for work.
    package var idle: Int { idleCount.load(ordering: .relaxed) }
    /// Those that are lent.
    package var lent: Int { max(0, openCount.load(ordering: .relaxed) - idle) }
    /// Those that are being opened.
    package var opening: Int { openingCount.load(ordering: .relaxed) }
    /// Borrowers that wait for one.
    package var waiting: Int { waitingCount.load(ordering: .relaxed) }

    func note(open: Int, idle: Int, opening: Int, waiting: Int) {
        openCount.store(open, ordering: .relaxed)
        idleCount.store(idle, ordering: .relaxed)
        openingCount.store(opening, ordering: .relaxed)
        waitingCount.store(waiting, ordering: .relaxed)
    }
}
