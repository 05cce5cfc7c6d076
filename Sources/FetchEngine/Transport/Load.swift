import EventLoop
import HTTPTypes
import Synchronization

/// The running side of a task: its transfer of the moment and what it has learned.
///
/// Its transfers come and go with the hops; it stays.
// @unchecked: the `var`s are touched on the loop's thread alone; other threads use `record` and the counters.
final class Load: @unchecked Sendable {
    /// What any thread may read.
    struct Record {
        var state = DataTask.State.suspended
        var hasStarted = false
        /// How often it was suspended more than resumed.
        var suspensions = 0
        var currentRequest: Request?
        var response: Response?
        var trailers = HTTPFields()
        var completeBody: [UInt8]?
        var redirects: [Redirect] = []
        var transactions: [TransactionMetrics] = []
        var start: MonotonicTime?
        var end: MonotonicTime?
    }

    let loop: EventLoop
    let record = Mutex(Record())
    let countOfBytesReceived = Atomic<Int64>(0)
    let countOfBytesSent = Atomic<Int64>(0)

    /// The hop at hand.
    ///
    /// The two hold each other until the load is complete or abandoned.
    var transfer: Transfer?
    /// Set once by whoever ends the load from outside; every step looks at it.
    var cancellation: LoadError?
    var deadline: MonotonicTime?
    /// Whoever waits for the task to be resumed before its next hop.
    var gate: CheckedContinuation<Void, Never>?
    var isSuspended = false

    init(loop: EventLoop) { self.loop = loop }

    /// Ends the load with an error, at any instant and from any thread; the first call counts.
    func end(with error: LoadError) {
        let isOver = record.withLock { record in
            if record.state != .completed { record.state = .canceling }
            return record.state == .completed
        }
        guard !isOver else { return }
        loop.perform { [self] in
            guard cancellation == nil else { return }
            cancellation = error
            transfer?.abort(error)
            gate.take()?.resume()
        }
    }

    /// Ends the load because nobody holds its task any more.
    func abandon() {
        end(with: LoadError(.cancelled, "The task was dropped."))
        loop.perform { [self] in transfer = nil }
    }

    /// Brings the transfer in line with the task's count of suspensions.
    func suspensionChanged() {
        loop.perform { [self] in
            isSuspended = record.withLock { $0.suspensions > 0 }
            transfer?.suspensionChanged()
            if !isSuspended { gate.take()?.resume() }
        }
    }
}
