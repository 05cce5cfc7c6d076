import DequeModule
import EventLoop

/// The queue of a loop's transfers that wait for a descriptor (REL-11).
///
/// To want one is no reason to fail: idle connections are closed first, then owners take turns, and of one owner's
/// transfers the first to come is the next.
// @unchecked: everything here is touched on the loop's thread alone.
final class DescriptorLine: @unchecked Sendable {
    /// The descriptors of a transfer while it runs: a file that it reads or fills.
    static let perTransfer = 1
    /// The descriptors of a transfer until it has a connection: a look-up takes three, a second try to connect one.
    static let perStart = 4
    /// The descriptors of libcurl for each of its multi handles.
    static let perPartition = 2

    /// The owner whose transfers take turns with those of others.
    enum Owner: Hashable {
        case named(String)
        /// Of a session that names no owner.
        case session(UInt64)
    }

    let budget: DescriptorBudget
    private let loop: EventLoop
    private let closeIdle: () -> Bool
    private var lines: [Owner: Deque<Transfer>] = [:]
    /// The owners of transfers that wait, the next one first.
    private var turns: Deque<Owner> = []
    /// How many wait, those that were cancelled meanwhile included.
    private var count = 0
    private var running = 0
    /// The system had none to give, so that to ask again at once would be for nothing.
    private var isRefused = false
    private var timer: LoopTimer?

    /// - Parameter closeIdle: Closes idle connections; returns whether there were any.
    init(_ budget: DescriptorBudget, loop: EventLoop, closeIdle: @escaping () -> Bool) {
        self.budget = budget
        self.loop = loop
        self.closeIdle = closeIdle
        timer = LoopTimer { [weak self] in
            self?.isRefused = false
            self?.serve()
        }
    }

    /// Whether a transfer may start now; if not, it is started when its turn has come.
    func admits(_ transfer: Transfer) -> Bool {
        loop.assertOnLoop()
        // A transfer that waits already is asked because it is the first.
        let isFirst = transfer.stage == .waiting
        if count == 0 || isFirst, findsRoom(for: transfer) {
            transfer.reserved = Self.perTransfer + Self.perStart
            budget.take(transfer.reserved)
            running += 1
            return true
        }
        if !isFirst { wait(transfer) }
        return false
    }

    /// Puts a transfer into the line.
    ///
    /// - Parameter isRefused: Whether the system had no descriptor for it, although there was room for it here.
    func wait(_ transfer: Transfer, isRefused: Bool = false) {
        loop.assertOnLoop()
        if isRefused { self.isRefused = true }
        transfer.stage = .waiting
        let owner = transfer.owner
        if lines[owner] == nil { turns.append(owner) }
        lines[owner, default: []].append(transfer)
        count += 1
        budget.noteWaiting(count)
        if count == 1 || isRefused { arm() }
    }

    /// It has a connection.
    func connected(_ transfer: Transfer) {
        loop.assertOnLoop()
        guard transfer.reserved > Self.perTransfer else { return }
        budget.giveBack(transfer.reserved - Self.perTransfer)
        transfer.reserved = Self.perTransfer
    }

    /// It is over, or in the line again.
    func left(_ transfer: Transfer) {
        loop.assertOnLoop()
        guard transfer.reserved > 0 else { return }
        budget.giveBack(transfer.reserved)
        transfer.reserved = 0
        running -= 1
        // Not at once: the connection of the ended transfer may be among the idle ones then.
        if count > 0 { loop.perform { [weak self] in self?.serve() } }
    }

    private func findsRoom(for transfer: Transfer) -> Bool {
        let need = Self.perTransfer + Self.perStart + (transfer.partition.isOpen ? 0 : Self.perPartition)
        // With nothing under way, nothing would ever come free.
        func hasRoom() -> Bool { budget.used + need <= budget.limit || running == 0 }
        while !hasRoom() { guard closeIdle() else { return false } }
        return true
    }

    private func serve() {
        loop.assertOnLoop()
        guard !isRefused else { return }
        while let owner = turns.first, let next = lines[owner]?.first {
            let isCancelled = next.stage != .waiting
            guard isCancelled || next.partition.starts(next) else { break }
            leave(owner, hadTurn: !isCancelled)
        }
        budget.noteWaiting(count)
        if count > 0 { arm() }
    }

    /// Takes the first of an owner's transfers out of the line.
    private func leave(_ owner: Owner, hadTurn: Bool) {
        lines[owner]?.removeFirst()
        count -= 1
        if lines[owner]?.isEmpty ?? true {
            lines[owner] = nil
            turns.removeFirst()
        } else if hadTurn {
            turns.append(turns.removeFirst())
        }
    }

    private func arm() {
        if let timer { loop.set(timer, for: MonotonicTime.now.advanced(by: DescriptorBudget.interval)) }
    }
}
