import EventLoop
import HTTPTypes
import Synchronization

/// What a load reads one hop from: a head, a body with back-pressure, and an end.
///
/// The forms say where these come from: ``Transfer`` has them from libcurl, ``StoredExchange`` from memory. Whatever
/// brings bytes only notes what came; decisions are made by the task that waits in ``arrival(_:isolation:)``.
// @unchecked: everything here, and in the forms, is touched on the loop's thread alone.
class Exchange: @unchecked Sendable {
    /// What the waiting task wants to see.
    enum Wish {
        /// The final head, and the end or more than this many bytes of the body.
        case head(bufferingUpTo: Int)
        /// Bytes of the body, or its end.
        case data
    }

    /// An answer that is not the response (1xx).
    struct Informational {
        let status: HTTPResponse.Status
        let headerFields: HTTPFields
    }

    /// A body is received ahead of its reader up to this much; then who brings it has to wait.
    ///
    /// libcurl fills its buffer up to eleven times before it returns: less would pause every fast body on the way.
    static let highWater = 11 * Partition.receiveBufferSize
    /// The body of a redirect or a challenge up to this size is read to its end, to keep the connection.
    static let redirectBodyLimit = 64 * 1024

    let request: Request
    let shared: SharedConfiguration
    let load: Load

    /// Our own reason to fail; it goes before any other.
    var failure: LoadError?
    /// Set when it is over: nil inside for success.
    var outcome: LoadError??
    var response: Response?
    var trailers = HTTPFields()
    var body: [UInt8] = []
    var bodyBytes: Int64 = 0
    var metrics: TransactionMetrics
    /// When the body of a redirect or a challenge has taken long enough.
    var redirectDeadline: MonotonicTime?
    /// Whether who brings the body waits for its reader.
    var isReceivingPaused = false
    /// Answers that nobody was told of yet; kept only when somebody wants to know.
    var informational: [Informational] = []

    private var wish: Wish?
    private var waiter: UnsafeContinuation<Void, Never>?
    /// How many bytes of the request body the teller knows of.
    private var toldBytesSent: Int64 = 0

    init(request: Request, configuration: SharedConfiguration, load: Load) {
        self.request = request
        shared = configuration
        self.load = load
        metrics = TransactionMetrics(url: request.url.withoutCredentials())
    }

    /// Whether a body that comes with this status is likely to be thrown away.
    static func mayBeRepeated(_ status: Int) -> Bool {
        RedirectMachine.isRedirect(status) || status == 401 || status == 407
    }

    /// Whether it is over, without success.
    var hasFailed: Bool { if case .some(.some) = outcome { true } else { false } }

    // MARK: What the forms fill in

    /// Lets more of the body come after ``isReceivingPaused``.
    func resumeReceiving() {}

    /// Lets more come where a wish has made room for it.
    func useRoom() {
        if isReceivingPaused, body.count < capacity { resumeReceiving() }
    }

    /// Follows the task's count of suspensions.
    func suspensionChanged() {}

    /// Takes the place that the task's priority gives it now.
    func priorityChanged() {}

    /// Goes by how fast the task may be now.
    func speedChanged() {}

    /// Ends it from outside, with an error unless it is over already.
    func abort(_ error: LoadError) {
        guard outcome == nil else { return }
        failure = error
        outcome = .some(error.at(request.url))
        wakeIfMet()
    }

    // MARK: Waiting

    /// Suspends until the wish is met, there is something to tell, or the exchange is over.
    ///
    /// One task at a time.
    func arrival(_ wish: Wish, isolation: isolated TransferLoop) async {
        // Resumed exactly once by its `take`; the checked form costs as much as the rest of the wait.
        await withUnsafeContinuation { continuation in
            self.wish = wish
            waiter = continuation
            useRoom()
            // The loop may have turned on the way here.
            wakeIfMet()
        }
    }

    func isMet(_ wish: Wish) -> Bool {
        guard outcome == nil else { return true }
        guard let response else { return false }
        switch wish {
        case .data: return !body.isEmpty
        case .head(let limit):
            guard Self.mayBeRepeated(response.status.code) else { return limit == 0 || body.count > limit }
            return body.count > max(limit, Self.redirectBodyLimit) || redirectDeadline == nil
        }
    }

    /// Wakes the waiting task when it has what it waits for.
    ///
    /// Never called from within libcurl.
    func wakeIfMet() {
        guard let wish, isMet(wish) || hasNews else { return }
        self.wish = nil
        waiter.take()?.resume()
    }

    /// Whether there is something that only a delegate wants to hear.
    var hasNews: Bool {
        load.isTold && (!informational.isEmpty || load.countOfBytesSent.load(ordering: .relaxed) != toldBytesSent)
    }

    /// The count of bytes sent and how many are new, once each time it grew.
    func takeSentBytes() -> (new: Int64, total: Int64)? {
        let total = load.countOfBytesSent.load(ordering: .relaxed)
        guard total != toldBytesSent else { return nil }
        // A body that is sent again starts anew.
        let new = total >= toldBytesSent ? total - toldBytesSent : total
        toldBytesSent = total
        return (new, total)
    }

    // MARK: The body

    /// How much body may be held: enough for a task that waits for a whole one.
    var capacity: Int {
        if case .head(let limit) = wish { max(Self.highWater, limit &+ 1) } else { Self.highWater }
    }

    /// Hands over what has come, and lets more come.
    func takeBody() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &body)
        if isReceivingPaused { resumeReceiving() }
        return taken
    }

    /// Notes a reason of our own to fail; always false, for callbacks that answer with it.
    func fail(_ code: LoadError.Code, _ message: String) -> Bool {
        if failure == nil { failure = LoadError(code, message) }
        return false
    }
}

/// An exchange that is over before it begins: an answer from memory.
final class StoredExchange: Exchange, @unchecked Sendable {
    init(_ response: Response, body: [UInt8], for request: Request, configuration: SharedConfiguration, load: Load) {
        super.init(request: request, configuration: configuration, load: load)
        self.response = response
        self.body = body
        bodyBytes = Int64(body.count)
        outcome = .some(nil)
    }
}
