import FetchRuntime
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Counts when a thread that answers requests worked for so long that its other connections had to wait.
///
/// NIO's turns are the tasks alone; the work of their thread between two of them, reading and parsing, counts for the
/// turn after.
final class LoopStallDelegate: NIOEventLoopMetricsDelegate {
    private struct Reading {
        var at: NIODeadline
        /// The time that the thread had worked by then, in nanoseconds.
        var worked: Int64
    }

    private static let name = "api"
    /// To read the thread's own clock is a call of the kernel, and made so often at most.
    private static let precision = TimeAmount.milliseconds(1)
    private static let threshold = TimeAmount.milliseconds(5)

    private let stalls: StallMetrics
    private let readings = Mutex<[ObjectIdentifier: Reading]>([:])

    init(_ stalls: StallMetrics) {
        self.stalls = stalls
        stalls.begin(Self.name)
    }

    func processedTick(info: NIOEventLoopTickInfo) {
        let worked = readings.withLock { readings -> Int64 in
            let last = readings[info.eventLoopID]
            if let last, info.endTime - last.at < Self.precision { return 0 }
            let now = Self.threadTime
            readings[info.eventLoopID] = Reading(at: info.endTime, worked: now)
            return last.map { now - $0.worked } ?? 0
        }
        let elapsed = max((info.endTime - info.startTime).nanoseconds, worked)
        guard elapsed >= Self.threshold.nanoseconds else { return }
        stalls.observe(Self.name, elapsed: .nanoseconds(elapsed), worked: .nanoseconds(worked))
    }

    private static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
