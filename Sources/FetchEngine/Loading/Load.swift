import EventLoop
import HTTPTypes
import Synchronization

/// One load: its state so far, and its steps.
///
/// ``response(bufferingUpTo:on:)`` names the steps in order; those of one subject are in an extension of their own.
/// A load outlives its exchanges, one for each hop.
// @unchecked: the `var`s are touched on the loop's thread alone; other threads use `record` and `state.values`.
final class Load: @unchecked Sendable {
    /// The state that any thread may read.
    struct Record {
        var phase = Phase.suspended
        var hasStarted = false
        /// How often it was suspended more than resumed.
        var suspensions = 0
        /// Answers questions before the delegates are asked.
        var adviser: (any LoadAdviser)?
        /// Where it goes on; taken when it begins.
        ///
        /// Boxed, because few loads have one, and it is large.
        var position: Boxed<LoadPosition>?
        var currentRequest: Request?
        var response: Response?
        var completeBody: [UInt8]?
        var error: LoadError?
        var steps: [LoadStep] = []
        var cookieVerdicts: [CookieVerdict] = []
        var end: MonotonicTime?
        var taskDescription: String?
        /// Boxed, because few loads have one, and a request is large.
        var delayedRequestDisposition: Boxed<DelayedRequestDisposition>?
        /// How many bytes of bodies the program expects.
        var countOfBytesClientExpectsToSend: Int64?
        var countOfBytesClientExpectsToReceive: Int64?
        /// Runs the load when no caller awaits it.
        var driver: Task<Void, Never>?
        /// The callers that wait for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Where a load is in its life.
    enum Phase { case suspended, running, canceling, completed }

    /// The request that the task was made with.
    let originalRequest: Request
    let state: LoadState
    let shared: SharedConfiguration
    let session: SessionState
    let record = Mutex(Record())
    /// The task; nil once it was released.
    ///
    /// A data task is replaced by the download task that it becomes.
    weak var client: (any LoadClient)?

    /// The hop at hand.
    ///
    /// The two hold each other until the load is complete or abandoned.
    var exchange: (any Exchange)?
    /// The entry that is stored while the response is delivered.
    var storing: ResponseStoring?
    /// Decides redirects, with those so far.
    var redirects: RedirectMachine
    /// How connections are made, as far as the load has learned.
    var connections = ConnectionDecisions()
    /// Decides challenges, with those so far.
    var authentication: AuthenticationMachine
    /// The HTTP proxy that the exchange at hand goes through.
    var proxy: Proxy?
    /// The authorization of the next request to its server and to the proxy, when a challenge has decided it.
    var authorization: Authorization?
    var proxyAuthorization: Authorization?
    /// When the look-up of the hop's host began and ended; nil when its addresses were known.
    var lookUp: (start: MonotonicTime, end: MonotonicTime)?
    /// The conversation with a server that offers Negotiate.
    var negotiation: Negotiation?
    /// Answers questions of the kinds in ``advised`` before the delegates are asked.
    var adviser: (any LoadAdviser)?
    var advised: LoadQuestion.Kinds = []
    /// The wait of the load outside of its exchange: for an answer, for a time, or to be resumed.
    private var pause: CheckedContinuation<Void, Never>?

    init(
        _ request: Request, _ shared: SharedConfiguration, in session: SessionState, on loop: EventLoop, priority: Float
    ) {
        originalRequest = request
        self.shared = shared
        self.session = session
        state = LoadState(
            loop: loop, priority: priority, countsTimeWhileSuspended: shared.value.countsTimeWhileSuspended)
        authentication = AuthenticationMachine(schemes: shared.value.authentication.schemeList)
        redirects = RedirectMachine(configuration: shared.value.redirects)
    }

    /// How it behaves.
    var configuration: SessionConfiguration { shared.value }

    /// Set once when the load is ended from outside; every step checks it.
    var cancellation: LoadError? {
        get { state.cancellation }
        set { state.cancellation = newValue }
    }

    var deadline: MonotonicTime? {
        get { state.deadline }
        set { state.deadline = newValue }
    }

    var isSuspended: Bool {
        get { state.isSuspended }
        set { state.isSuspended = newValue }
    }

    /// The request of the hop at hand.
    var currentRequest: Request { record.withLock { $0.currentRequest } ?? originalRequest }

    /// Throws the reason to stop, when there is one.
    func checkCancellation() throws(LoadError) {
        state.assertOnLoop()
        if let cancellation { throw cancellation }
    }

    /// Forgets the authorization of a request to a server that is not made.
    func withdrawAuthorization() {
        authentication.withdraw()
        (authorization, proxyAuthorization, negotiation) = (nil, nil, nil)
    }

    /// Makes an exchange the present hop; its bytes are counted anew.
    func take(_ exchange: any Exchange, for request: Request) {
        state.assertOnLoop()
        self.exchange = exchange
        state.countOfBytesSent.store(0, ordering: .relaxed)
        record.withLock { $0.currentRequest = request }
    }

    /// Ends the load with an error, at any instant and from any thread; the first call counts.
    func end(with error: LoadError) {
        let isOver = record.withLock { record in
            if record.phase != .completed { record.phase = .canceling }
            return record.phase == .completed
        }
        guard !isOver else { return }
        state.loop.perform { [self] in
            guard cancellation == nil else { return }
            cancellation = error
            exchange?.abort(error)
            endPause()
        }
    }

    /// Ends the load because its task was released.
    func abandon() {
        end(with: LoadError(.cancelled, "The task was dropped."))
        state.loop.perform { [self] in
            exchange = nil
            storing = nil
        }
    }

    /// Brings the exchange in line with the task's count of suspensions.
    func suspensionChanged() {
        state.loop.perform { [self] in
            isSuspended = record.withLock { $0.suspensions > 0 }
            exchange?.suspensionChanged()
            if !isSuspended { endPause() }
        }
    }

    /// Moves the exchange to its new position in the queue.
    func priorityChanged() {
        state.loop.perform { [self] in exchange?.priorityChanged() }
    }

    /// Applies the task's new limit of bytes per second.
    func speedChanged() {
        state.loop.perform { [self] in exchange?.speedChanged() }
    }

    // MARK: Waiting outside of an exchange

    /// Suspends until ``endPause()``, unless `condition` is false already; cancellation ends it too.
    func pause(on loop: isolated TransferLoop, while condition: () -> Bool) async {
        while cancellation == nil, condition() {
            await withCheckedContinuation { continuation in
                // The loop may have turned on the way here.
                if cancellation == nil, condition() { pause = continuation } else { continuation.resume() }
            }
        }
    }

    func endPause() {
        state.assertOnLoop()
        pause.take()?.resume()
    }

    /// Suspends until a moment, or until the load is cancelled.
    func pause(until moment: MonotonicTime, on loop: isolated TransferLoop) async {
        let timer = LoopTimer { [weak self] in self?.endPause() }
        state.loop.set(timer, for: moment)
        await pause(on: loop) { MonotonicTime.now < moment }
        state.loop.set(timer, for: nil)
    }

    /// Asks a delegate, and gives up when the load is cancelled before the answer.
    ///
    /// The question's task is cancelled then, but not waited for: a delegate that never answers delays nothing.
    ///
    /// - Parameter isApart: Whether it is asked on another thread, so that it may take its time.
    func answer<Answer: Sendable>(
        on loop: isolated TransferLoop, apart isApart: Bool = true, to question: @escaping @Sendable () async -> Answer
    ) async throws(LoadError) -> Answer {
        let box = AnswerBox<Answer>()
        let ask: @Sendable () async -> Void = { [self] in
            guard !Task.isCancelled else { return }
            let answer = await question()
            state.loop.perform { [self] in
                box.answer = answer
                endPause()
            }
        }
        let asking = isApart ? startApart(ask) : loop.start { _ in await ask() }
        await pause(on: loop) { box.answer == nil }
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
