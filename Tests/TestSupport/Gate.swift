import Glibc
import Synchronization

/// Holds the thread that serves a connection until the test opens it.
package final class Gate: Sendable {
    package struct NeverOpened: Error {}

    private let reading: Int32
    private let writing: Mutex<Int32?>

    package init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no descriptor is left for a gate")
        // A child that inherited the writing end would hold the gate closed.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = ends[0]
        writing = Mutex(ends[1])
    }

    deinit {
        open()
        close(reading)
    }

    /// Blocks the thread until the gate is open, a minute at most.
    package func wait() throws {
        var descriptor = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 60_000) == 1 else { throw NeverOpened() }
    }

    /// Opens the gate for good.
    package func open() {
        if let descriptor = writing.withLock({ $0.take() }) { close(descriptor) }
    }
}

/// A count that threads and tasks share.
package final class Progress: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// The sum so far.
    package var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Adds, and returns the sum.
    @discardableResult
    package func add(_ number: Int) -> Int { count.add(number, ordering: .sequentiallyConsistent).newValue }
}

/// So many bytes of which no two neighbouring kilobytes are alike.
package func pattern(_ count: Int) -> [UInt8] {
    // Of no bytes it would write to the one empty array of all threads, which sanitizers see.
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        for index in 0..<count { buffer[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 10) }
        initialized = count
    }
}
