import Glibc

/// A timer of an event loop: an action and, while it is set, the ticket of its entry.
///
/// It is set and cleared with ``EventLoop/set(_:for:)`` and fires once, on the loop's thread.
package final class LoopTimer {
    /// 0 while the timer is not set.
    var ticket: UInt64 = 0
    let action: () -> Void

    package init(action: @escaping () -> Void) { self.action = action }
}

/// A point of the monotonic clock.
package struct MonotonicTime: Comparable, Sendable {
    /// Nanoseconds since an arbitrary start.
    package let nanoseconds: UInt64

    package static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    package func nanoseconds(since earlier: MonotonicTime) -> Int64 {
        Int64(bitPattern: nanoseconds &- earlier.nanoseconds)
    }

    package func advanced(by duration: Duration) -> MonotonicTime {
        // In one division: the components take two.
        MonotonicTime(nanoseconds: nanoseconds &+ UInt64(duration.attoseconds / 1_000_000_000))
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }
}
