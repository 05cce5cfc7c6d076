import EventLoop
import HTTPTypes
import Synchronization

/// The state that a load shares with the exchange of each hop: counters, limits, and the reasons to stop.
// @unchecked: the `var`s are touched on the loop's thread alone; other threads use `values` and the counters.
final class LoadState: @unchecked Sendable {
    /// The state that any thread may read and change.
    struct Values {
        /// From 0.0 to 1.0.
        var priority: Float
        /// The bandwidths shared with other tasks, requested before each piece of a body.
        var bandwidths: (@Sendable () -> [Bandwidth])?
        /// The limit set for the task alone; nil while its configuration decides.
        var maximumBytesPerSecond: Int64??
        /// When the load began; one that goes on with another began when that did.
        var start: MonotonicTime?
        /// How long before this load that other one began.
        var earlier = Duration.zero
        var transactions: [TransactionMetrics] = []
        var trailers = HTTPFields()
        /// Where the server keeps the part of the request body that it has received.
        var uploadURL: URLRecord?
    }

    /// When the load has to be over, or how much of its time is left while that stands still.
    private enum Limit {
        case none
        case end(MonotonicTime)
        case left(Duration)
    }

    let loop: EventLoop
    let values: Mutex<Values>
    let countOfBytesReceived = Atomic<Int64>(0)
    /// Of the sending at hand.
    let countOfBytesSent = Atomic<Int64>(0)
    /// How often the request's body was begun to be sent.
    let countOfSendings = Atomic<Int>(0)
    /// Whether a delegate is notified of informational responses and of progress.
    var notifiesDelegate = false
    /// Set once when the load is ended from outside; every step checks it.
    var cancellation: LoadError?
    /// Whether the time for the resource goes on while the task is suspended.
    let countsTimeWhileSuspended: Bool
    private var limit = Limit.none
    /// When the load has to be over; nil for never.
    ///
    /// While it stands still this moves along with the time.
    var deadline: MonotonicTime? {
        get {
            switch limit {
            case .none: nil
            case .end(let end): end
            case .left(let left): .now.advanced(by: left)
            }
        }
        set { limit = newValue.map { isStandingStill ? .left(.until($0)) : .end($0) } ?? .none }
    }
    /// The same, but nil while it stands still.
    var expiry: MonotonicTime? { isStandingStill ? nil : deadline }
    var isSuspended = false {
        willSet {
            guard newValue != isSuspended else { return }
            // A task that is suspended is not subject to timeouts (TSK-7).
            let end = deadline
            isStandingStill = newValue && !countsTimeWhileSuspended
            deadline = end
        }
    }
    private var isStandingStill = false
    /// Whether the adviser is still to decide about the response: until then its body is left with the origin.
    var leavesBody = false

    init(loop: EventLoop, priority: Float, countsTimeWhileSuspended: Bool = false) {
        self.loop = loop
        self.countsTimeWhileSuspended = countsTimeWhileSuspended
        values = Mutex(Values(priority: priority))
    }

    func noteSent(_ count: Int) {
        if countOfBytesSent.load(ordering: .relaxed) == 0 { countOfSendings.add(1, ordering: .releasing) }
        countOfBytesSent.add(Int64(count), ordering: .releasing)
    }

    /// The number of the sending at hand and how many of its bytes were sent; nil before the first of them.
    var sending: (number: Int, bytes: Int64)? {
        while true {
            let number = countOfSendings.load(ordering: .acquiring)
            let bytes = countOfBytesSent.load(ordering: .acquiring)
            // Another one may have begun in between.
            guard number == countOfSendings.load(ordering: .acquiring) else { continue }
            return bytes > 0 ? (number, bytes) : nil
        }
    }

    /// Traps in debug builds when the caller is not on the loop's thread.
    func assertOnLoop() { loop.assertOnLoop() }
}

extension Duration {
    /// The time from now to a moment; zero when it is past.
    fileprivate static func until(_ moment: MonotonicTime) -> Duration {
        .nanoseconds(max(0, moment.nanoseconds(since: .now)))
    }
}
