import EventLoop
import HTTPTypes
import Synchronization

/// The source of one hop of a load: a head, a body with back-pressure, and an end.
///
/// ``Transfer`` receives these from libcurl, the other forms from memory, from a cache or from a protocol handler. A
/// form only records in ``delivery`` what has come; the task that waits in ``arrival(_:isolation:)`` decides.
///
/// Everything here is used on the loop's thread alone.
protocol Exchange: AnyObject, Sendable {
    var request: Request { get }
    var shared: SharedConfiguration { get }
    var state: LoadState { get }
    var delivery: Delivery { get }

    /// Lets more of the body come after ``Delivery/isReceivingPaused``.
    func resumeReceiving()

    /// Lets more of the body come when the reader has made room for it.
    func useRoom()

    /// Follows the task's count of suspensions.
    func suspensionChanged()

    /// Takes the position in its queue that the task's priority gives it now.
    func priorityChanged()

    /// Applies the present deadline of the load.
    func deadlineChanged()

    /// Applies the task's new limit of bytes per second.
    func speedChanged()

    /// Ends the exchange from outside, with an error unless it is over already.
    func abort(_ error: LoadError)
}

/// The received part of a hop, and the wait of its reader.
///
/// An object, since each look at one of its parts through ``Exchange`` would copy a structure as a whole.
final class Delivery {
    /// An informational response (1xx).
    struct Informational {
        let status: HTTPResponse.Status
        let headerFields: HTTPFields
    }

    /// The condition for which the task waits.
    enum Demand {
        /// The final head, and the end or more than this many bytes of the body.
        case head(bufferingUpTo: Int)
        /// Bytes of the body, or its end.
        case data
    }

    /// The engine's own reason to fail; it replaces any other.
    @exclusivity(unchecked) var failure: LoadError?
    /// Set when the exchange is over: nil inside for success.
    @exclusivity(unchecked) var outcome: LoadError??
    @exclusivity(unchecked) var response: Response?
    @exclusivity(unchecked) var trailers = HTTPFields()
    @exclusivity(unchecked) var body: [UInt8] = []
    @exclusivity(unchecked) var bodyBytes: Int64 = 0
    @exclusivity(unchecked) var metrics: TransactionMetrics
    /// When the body of a redirect or a challenge has taken long enough.
    @exclusivity(unchecked) var redirectDeadline: MonotonicTime?
    /// Whether the source of the body waits for its reader.
    @exclusivity(unchecked) var isReceivingPaused = false
    /// Informational responses that no delegate was notified of yet.
    @exclusivity(unchecked) var informational: [Informational] = []

    @exclusivity(unchecked) fileprivate var demand: Demand?
    @exclusivity(unchecked) fileprivate var waiter: UnsafeContinuation<Void, Never>?
    /// How many bytes of the request body the delegate was notified of.
    @exclusivity(unchecked) fileprivate var reportedBytesSent: Int64 = 0

    init(for request: Request) { metrics = TransactionMetrics(url: request.url.withoutCredentials()) }
}

/// The limits of every exchange.
enum ExchangeLimits {
    /// A body is received ahead of its reader up to this much; then its source has to wait.
    ///
    /// libcurl fills its buffer up to eleven times before it returns: less would pause every fast body on the way.
    static let highWater = 11 * Partition.receiveBufferSize
    /// The same while the load's adviser decides about the response: the first bytes are enough, so that a small body is
    /// there at once when it has.
    static let highWaterWhileUndecided = 1
    /// The body of a redirect or a challenge up to this size is read to its end, to keep the connection.
    static let redirectBody = 64 * 1024
    /// So many informational responses are kept until the load notes them.
    static let maximumInformational = 64

    /// Whether the body of a response with this status is likely to be discarded.
    static func mayBeRepeated(_ status: Int) -> Bool {
        RedirectMachine.isRedirect(status) || status == 401 || status == 407
    }
}

// Default implementations, which most forms use.
extension Exchange {
    func resumeReceiving() {}
    func useRoom() { resumeIfRoom() }
    func suspensionChanged() {}
    func priorityChanged() {}
    func deadlineChanged() {}
    func speedChanged() {}
    func abort(_ error: LoadError) { conclude(with: error) }

    func resumeIfRoom() {
        if isReceivingPaused, body.count < capacity { resumeReceiving() }
    }

    func conclude(with error: LoadError) {
        state.assertOnLoop()
        guard outcome == nil else { return }
        failure = error
        outcome = .some(error.at(request.url))
        wakeIfMet()
    }
}

// The state of the delivery, under short names.
extension Exchange {
    var failure: LoadError? {
        get { delivery.failure }
        set { delivery.failure = newValue }
    }

    var outcome: LoadError?? {
        get { delivery.outcome }
        set { delivery.outcome = newValue }
    }

    var response: Response? {
        get { delivery.response }
        _modify { yield &delivery.response }
    }

    var trailers: HTTPFields {
        get { delivery.trailers }
        _modify { yield &delivery.trailers }
    }

    /// In place: a body that grows is never copied.
    var body: [UInt8] {
        get { delivery.body }
        _modify { yield &delivery.body }
    }

    var bodyBytes: Int64 {
        get { delivery.bodyBytes }
        set { delivery.bodyBytes = newValue }
    }

    var metrics: TransactionMetrics {
        get { delivery.metrics }
        _modify { yield &delivery.metrics }
    }

    var redirectDeadline: MonotonicTime? {
        get { delivery.redirectDeadline }
        set { delivery.redirectDeadline = newValue }
    }

    var isReceivingPaused: Bool {
        get { delivery.isReceivingPaused }
        set { delivery.isReceivingPaused = newValue }
    }

    var informational: [Delivery.Informational] {
        get { delivery.informational }
        _modify { yield &delivery.informational }
    }

    /// Whether the exchange is over, without success.
    var hasFailed: Bool { if case .some(.some) = outcome { true } else { false } }
}

// Waiting.
extension Exchange {
    /// Suspends until the demand is met, there is news for the delegate, or the exchange is over.
    ///
    /// One task at a time.
    func arrival(_ demand: Delivery.Demand, isolation: isolated TransferLoop) async {
        // Resumed exactly once by its `take`; the checked form costs as much as the rest of the wait.
        await withUnsafeContinuation { continuation in
            delivery.demand = demand
            delivery.waiter = continuation
            useRoom()
            // The loop may have turned on the way here.
            wakeIfMet()
        }
    }

    func isMet(_ demand: Delivery.Demand) -> Bool {
        guard outcome == nil else { return true }
        guard let response else { return false }
        switch demand {
        case .data: return !body.isEmpty
        case .head(let limit):
            guard ExchangeLimits.mayBeRepeated(response.status.code) else { return limit == 0 || body.count > limit }
            return body.count > max(limit, ExchangeLimits.redirectBody) || redirectDeadline == nil
        }
    }

    /// Wakes the waiting task when its demand is met.
    ///
    /// Never called from within libcurl.
    func wakeIfMet() {
        state.assertOnLoop()
        guard let demand = delivery.demand, isMet(demand) || hasNews else { return }
        delivery.demand = nil
        delivery.waiter.take()?.resume()
    }

    /// Whether something has happened before the head that the load has not noted.
    var hasNews: Bool {
        !informational.isEmpty
            || state.notifiesDelegate
                && state.countOfBytesSent.load(ordering: .relaxed) != delivery.reportedBytesSent
    }

    /// The count of bytes sent and how many are new, once each time it grew.
    func takeSentBytes() -> (new: Int64, total: Int64)? {
        let total = state.countOfBytesSent.load(ordering: .relaxed)
        let reported = delivery.reportedBytesSent
        guard total != reported else { return nil }
        delivery.reportedBytesSent = total
        // A body that is sent again starts at zero.
        return (total >= reported ? total - reported : total, total)
    }

    // MARK: The body

    /// How much body may be held: enough for a task that waits for a whole one.
    var capacity: Int {
        if state.leavesBody, let response, !ExchangeLimits.mayBeRepeated(response.status.code) {
            return ExchangeLimits.highWaterWhileUndecided
        }
        return if case .head(let limit) = delivery.demand {
            max(ExchangeLimits.highWater, limit &+ 1)
        } else {
            ExchangeLimits.highWater
        }
    }

    /// Returns the bytes that have come, and makes room for more.
    func takeBody() -> [UInt8] {
        state.assertOnLoop()
        var taken: [UInt8] = []
        swap(&taken, &delivery.body)
        useRoom()
        return taken
    }

    /// Records a reason of the engine's own to fail; always false, for callbacks that return it.
    func fail(_ code: LoadError.Code, _ message: String) -> Bool { fail(LoadError(code, message)) }

    func fail(_ error: LoadError) -> Bool {
        if failure == nil { failure = error }
        return false
    }
}
