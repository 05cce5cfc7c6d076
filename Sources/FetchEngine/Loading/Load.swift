import EventLoop
import HTTPTypes
import Synchronization

/// The running side of a task: its exchange of the moment and what it has learned.
///
/// Its exchanges come and go with the hops; it stays.
// @unchecked: the `var`s are touched on the loop's thread alone; other threads use `record` and the counters.
final class Load: @unchecked Sendable {
    /// What any thread may read.
    struct Record {
        var state = SessionTask.State.suspended
        var hasStarted = false
        /// How often it was suspended more than resumed.
        var suspensions = 0
        var priority: Float = SessionTask.defaultPriority
        var taskDescription: String?
        /// What it shares with other tasks, asked for before each piece of a body.
        var bandwidths: (@Sendable () -> [Bandwidth])?
        /// What was set for it alone; nil while its configuration says it.
        var maximumBytesPerSecond: Int64??
        var currentRequest: Request?
        var response: Response?
        var trailers = HTTPFields()
        var completeBody: [UInt8]?
        var error: LoadError?
        var steps: [LoadStep] = []
        var cookieVerdicts: [CookieVerdict] = []
        var transactions: [TransactionMetrics] = []
        var start: MonotonicTime?
        var end: MonotonicTime?
        /// Runs the load when nobody awaits it.
        var driver: Task<Void, Never>?
        /// Where the server keeps what it has of the body.
        var uploadURL: URLRecord?
        /// Those who wait for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let loop: EventLoop
    let record = Mutex(Record())
    let countOfBytesReceived = Atomic<Int64>(0)
    let countOfBytesSent = Atomic<Int64>(0)

    /// The hop at hand.
    ///
    /// The two hold each other until the load is complete or abandoned.
    var exchange: Exchange?
    /// What goes into the cache while it is delivered.
    var storing: AnswerStoring?
    /// What the redirects so far allow next.
    var redirects: RedirectMachine
    /// How connections are made, as far as the load has learned.
    var connections = ConnectionAnswers()
    /// What the challenges so far have come to.
    var authentication = AuthenticationMachine()
    /// The HTTP proxy that the exchange at hand goes through.
    var proxy: Proxy?
    /// What the next request carries to its server and to the proxy, when a challenge has decided it.
    var authorization: Authorization?
    var proxyAuthorization: Authorization?
    /// When the addresses of the hop's host were asked for, and when they were there; nil when they were known.
    var lookUp: (start: MonotonicTime, end: MonotonicTime)?
    /// The conversation with a server that offers Negotiate.
    var negotiation: Negotiation?
    /// Whether a delegate wants to hear of informational answers and of progress.
    var isTold = false
    /// Set once by whoever ends the load from outside; every step looks at it.
    var cancellation: LoadError?
    var deadline: MonotonicTime?
    var isSuspended = false
    /// What the load waits for outside of its exchange: an answer, a moment, or to be resumed.
    private var pause: CheckedContinuation<Void, Never>?

    init(loop: EventLoop, redirects: RedirectConfiguration) {
        self.loop = loop
        self.redirects = RedirectMachine(configuration: redirects)
    }

    /// Forgets what was chosen and prepared for a request to a server that is not made.
    func withdrawAuthorization() {
        authentication.withdraw()
        (authorization, proxyAuthorization, negotiation) = (nil, nil, nil)
    }

    /// Makes an exchange the hop at hand; what is sent is counted anew.
    func take(_ exchange: Exchange, for request: Request) {
        self.exchange = exchange
        countOfBytesSent.store(0, ordering: .relaxed)
        record.withLock { $0.currentRequest = request }
    }

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
            exchange?.abort(error)
            endPause()
        }
    }

    /// Ends the load because nobody holds its task any more.
    func abandon() {
        end(with: LoadError(.cancelled, "The task was dropped."))
        loop.perform { [self] in
            exchange = nil
            storing = nil
        }
    }

    /// Brings the exchange in line with the task's count of suspensions.
    func suspensionChanged() {
        loop.perform { [self] in
            isSuspended = record.withLock { $0.suspensions > 0 }
            exchange?.suspensionChanged()
            if !isSuspended { endPause() }
        }
    }

    /// Moves the exchange to its new place among those that wait.
    func priorityChanged() {
        loop.perform { [self] in exchange?.priorityChanged() }
    }

    /// Has the exchange go by how fast the task may be now.
    func speedChanged() {
        loop.perform { [self] in exchange?.speedChanged() }
    }

    // MARK: Waiting outside of an exchange

    /// Suspends until ``endPause()``, unless `condition` is false already; cancellation ends it too.
    func pause(isolation: isolated TransferLoop, while condition: () -> Bool) async {
        while cancellation == nil, condition() {
            await withCheckedContinuation { continuation in
                // The loop may have turned on the way here.
                if cancellation == nil, condition() { pause = continuation } else { continuation.resume() }
            }
        }
    }

    func endPause() { pause.take()?.resume() }

    /// Suspends until a moment, or until the load is cancelled.
    func pause(until moment: MonotonicTime, isolation: isolated TransferLoop) async {
        let timer = LoopTimer { [weak self] in self?.endPause() }
        loop.set(timer, for: moment)
        await pause(isolation: isolation) { MonotonicTime.now < moment }
        loop.set(timer, for: nil)
    }

    /// Asks a delegate, and gives up when the load is cancelled before the answer.
    ///
    /// The question's task is cancelled then, but not waited for: a delegate that never answers holds up nobody.
    func answer<Answer: Sendable>(
        isolation: isolated TransferLoop, to question: @escaping @Sendable () async -> Answer
    ) async throws(LoadError) -> Answer {
        let box = AnswerBox<Answer>()
        let asking = startApart { [self] in
            let answer = await question()
            loop.perform { [self] in
                box.answer = answer
                endPause()
            }
        }
        await pause(isolation: isolation) { box.answer == nil }
        if let cancellation {
            asking.cancel()
            throw cancellation
        }
        guard let answer = box.answer else { throw LoadError(.unknown, "A question was left without an answer.") }
        return answer
    }
}

/// Where an answer arrives.
// @unchecked: touched on the loop's thread alone.
private final class AnswerBox<Answer>: @unchecked Sendable {
    var answer: Answer?
}
