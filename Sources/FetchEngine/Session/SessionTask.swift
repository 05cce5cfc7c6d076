import EventLoop
public import HTTPTypes
import Synchronization

/// One load with all its hops, and its result.
///
/// A task is made suspended and sends nothing. It is driven in one of two ways: a caller awaits its result
/// (``DataTask/response(bufferingUpTo:)``, ``DownloadTask/result()``), or ``resume()`` starts it and a delegate or a
/// completion handler is notified.
///
/// The compiler cannot check that a class with subclasses is Sendable; all that they store is a `let` of such a type.
///
/// ```swift
/// let task = session.dataTask(with: request)
/// task.resume()
/// task.suspend()  // The transfer stands still.
/// task.resume()
/// task.cancel()   // The delegate is notified of `cancelled`.
/// ```
public class SessionTask: @unchecked Sendable {
    /// Where a task is in its life.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It was not started yet, or was suspended.
        case suspended
        /// It loads.
        case running
        /// It was cancelled, and its delegate has not been notified of the end yet.
        case canceling
        /// It is over.
        case completed
    }

    /// The priority of a task that was given none.
    public static let defaultPriority: Float = 0.5
    /// The priority of a task that may wait.
    public static let lowPriority: Float = 0.25
    /// The priority of a task that others wait for.
    public static let highPriority: Float = 0.75

    /// Its number within the session.
    public let identifier: UInt64
    /// The request it was made with.
    public let originalRequest: Request
    /// How it behaves: the session's configuration or its own.
    public var configuration: SessionConfiguration { shared.value }
    let shared: SharedConfiguration
    /// The task's own delegate; it comes before the session's.
    public let delegate: (any TaskDelegate)?
    /// The session it belongs to.
    public let session: Session
    /// When it may begin; `nil` is at once.
    ///
    /// A task that is started earlier waits, and then asks `willBeginDelayedRequest`; see
    /// ``delayedRequestDisposition``.
    public let earliestBegin: ContinuousClock.Instant?
    let load: Load

    init(_ creation: Creation) {
        identifier = creation.identifier
        originalRequest = creation.request
        shared = creation.configuration
        session = creation.session
        delegate = creation.delegate
        earliestBegin = creation.earliestBegin
        load =
            creation.load
            ?? Load(
                creation.request, creation.configuration, in: creation.session.state,
                on: creation.session.transferLoop.eventLoop, priority: Self.defaultPriority)
        guard creation.load == nil else { return }
        load.client = self
        if creation.isRefused { load.cancellation = LoadError(.sessionInvalidated, "The session was invalidated.") }
    }

    /// The parts of a task of any kind.
    struct Creation {
        var identifier: UInt64
        var request: Request
        var configuration: SharedConfiguration
        var session: Session
        /// Whether the session takes no tasks any more.
        var isRefused: Bool
        /// The load that the task continues; nil for one of its own.
        var load: Load?
        var delegate: (any TaskDelegate)?
        var earliestBegin: ContinuousClock.Instant?
    }

    deinit {
        guard load.record.withLock({ $0.phase != .completed }) else { return }
        load.abandon()
        session.ended(identifier)
    }

    // MARK: Looking

    /// Where the task is in its life.
    public var state: State {
        load.record.withLock { record in
            switch record.phase {
            case .suspended: .suspended
            case .running: record.suspensions > 0 ? .suspended : .running
            case .canceling: .canceling
            case .completed: .completed
            }
        }
    }

    /// The request of the hop at hand.
    public var currentRequest: Request { load.currentRequest }

    /// The final response, once it has come.
    public var response: Response? { load.record.withLock { $0.response } }

    /// Why the task failed; `nil` while it runs and when it is complete.
    public var error: LoadError? { load.record.withLock { $0.error } }

    /// The fields that came after the body; empty before its end.
    public var trailerFields: HTTPFields { load.state.values.withLock { $0.trailers } }

    /// The redirects followed so far.
    public var redirects: [Redirect] { load.record.withLock { $0.steps }.redirects }

    /// The challenges met so far, of servers and of proxies.
    public var challenges: [AnsweredChallenge] {
        steps.compactMap { if case .challenged(let challenge) = $0 { challenge } else { nil } }
    }

    /// What the task has met so far, in its order.
    public var steps: [LoadStep] { load.record.withLock { $0.steps } }

    /// How soon the task gets a connection and its share of a shared one, from 0.0 to 1.0.
    ///
    /// A hint: of the tasks that wait for a connection to one origin the highest goes first. It may be changed at any
    /// time; a task that has its connection is not moved.
    public var priority: Float {
        get { load.state.values.withLock { $0.priority } }
        set {
            load.state.values.withLock { $0.priority = min(max(newValue, 0), 1) }
            load.priorityChanged()
        }
    }

    /// How many bytes a second each transfer of the task may receive, and as many send; `nil` for any number.
    ///
    /// By default the value of its configuration. It may be changed at any time; a running task obeys it within a
    /// second.
    public var maximumBytesPerSecond: Int64? {
        get { load.state.values.withLock { $0.maximumBytesPerSecond } ?? configuration.maximumBytesPerSecond }
        set {
            load.state.values.withLock { $0.maximumBytesPerSecond = .some(newValue) }
            load.speedChanged()
        }
    }

    /// The bandwidths that the task shares with others at the moment; nil, the default, when it never shares any.
    ///
    /// To be set before the task is resumed. It is called before each piece of a body, on the thread that moves the
    /// bytes, so it has to be quick; its result may change.
    public var bandwidths: (@Sendable () -> [Bandwidth])? {
        get { load.state.values.withLock { $0.bandwidths } }
        set { load.state.values.withLock { $0.bandwidths = newValue } }
    }

    /// Answers questions before the delegates are asked; must be set before the task is resumed.
    package var adviser: (any LoadAdviser)? {
        get { load.record.withLock { $0.adviser } }
        set { load.record.withLock { $0.adviser = newValue } }
    }

    /// Where the task goes on, in place of its beginning; to be set before the task is resumed.
    package var position: LoadPosition? {
        get { load.record.withLock { $0.position }?.value }
        set { load.record.withLock { $0.position = newValue.map { Boxed($0) } } }
    }

    /// The program's name for the task; nil by default.
    ///
    /// Delegates and stores may read it; the engine does nothing with it.
    public var taskDescription: String? {
        get { load.record.withLock { $0.taskDescription } }
        set { load.record.withLock { $0.taskDescription = newValue } }
    }

    /// What the task does once its begin date has come; `continueLoading` by default.
    ///
    /// It may be changed while the task waits. A delegate that answers `task(_:willBeginDelayedRequest:)` otherwise than
    /// with `continueLoading` goes before it.
    public var delayedRequestDisposition: DelayedRequestDisposition {
        get { load.record.withLock { $0.delayedRequestDisposition?.value } ?? .continueLoading }
        set { load.record.withLock { $0.delayedRequestDisposition = Boxed(newValue) } }
    }

    /// How many bytes of bodies have come, those of redirects included.
    public var countOfBytesReceived: Int64 { load.state.countOfBytesReceived.load(ordering: .relaxed) }

    /// How many bytes of the request body have been handed to the connection.
    ///
    /// Starts again when the body has to be sent again.
    public var countOfBytesSent: Int64 { load.state.countOfBytesSent.load(ordering: .relaxed) }

    /// The sending of the request body at hand, by its number from 1, and how many of its bytes have been handed to the
    /// connection; nil before the first of them (UPL-9).
    package var sending: (number: Int, bytes: Int64)? { load.state.sending }

    /// How many bytes the final response announced; nil when it did not or has not come.
    public var countOfBytesExpectedToReceive: Int64? { response?.expectedContentLength }

    /// How many bytes the request body has; nil when that is unknown, 0 when there is no body.
    public var countOfBytesExpectedToSend: Int64? { currentRequest.expectedBodyLength }

    /// How many bytes the program expects to send; nil, the default, when it does not know either.
    ///
    /// ``progress`` goes by it while the length of the body is unknown.
    public var countOfBytesClientExpectsToSend: Int64? {
        get { load.record.withLock { $0.countOfBytesClientExpectsToSend } }
        set { load.record.withLock { $0.countOfBytesClientExpectsToSend = newValue } }
    }

    /// How many bytes the program expects to receive; nil, the default, when it does not know either.
    ///
    /// ``progress`` goes by it before the response, and where that announces no length.
    public var countOfBytesClientExpectsToReceive: Int64? {
        get { load.record.withLock { $0.countOfBytesClientExpectsToReceive } }
        set { load.record.withLock { $0.countOfBytesClientExpectsToReceive = newValue } }
    }

    /// The progress of the task, of the bytes that it sends and receives together.
    public var progress: TaskProgress { TaskProgress(self) }

    /// All transactions so far; final once the task is over.
    public var metrics: TaskMetrics {
        let (end, redirectCount) = load.record.withLock { ($0.end ?? .now, $0.steps.redirects.count) }
        let (start, transactions) = load.state.values.withLock { ($0.start ?? .now, $0.transactions) }
        return TaskMetrics(
            taskInterval: .nanoseconds(end.nanoseconds(since: start)), redirectCount: redirectCount,
            transactions: transactions)
    }

    /// How long before this task the one began with which it goes on; zero for one that goes on with none.
    package var earlier: Duration { load.state.values.withLock { $0.earlier } }

    /// The verdict on each cookie that the responses so far have set, those of redirects included.
    public var cookieVerdicts: [CookieVerdict] { load.record.withLock { $0.cookieVerdicts } }

    // MARK: Driving

    /// Starts the task, or takes back one ``suspend()``.
    ///
    /// A task with a delegate or a completion handler runs from now on by itself. Another one is driven by the caller
    /// that awaits it.
    public func resume() {
        let isFirst = load.record.withLock { record in
            record.suspensions = max(0, record.suspensions - 1)
            guard record.suspensions == 0, !record.hasStarted, record.driver == nil, drivesItself else { return false }
            record.driver = session.transferLoop.start { _ in await self.run() }
            return true
        }
        if !isFirst { load.suspensionChanged() }
    }

    /// Whether the task has a delegate or a completion handler to notify.
    var drivesItself: Bool { notifiesDelegate }

    /// Holds the transfer where it is, timers included, until ``resume()`` was called as often.
    public func suspend() {
        load.record.withLock { $0.suspensions += 1 }
        load.suspensionChanged()
    }

    /// Ends the task with `cancelled`, at any moment before its end; harmless afterwards.
    ///
    /// One that was never started ends too, and its delegate is notified.
    public func cancel() {
        load.end(with: LoadError(.cancelled, "The task was cancelled."))
        let neverRan = load.record.withLock { !$0.hasStarted && $0.driver == nil }
        if neverRan { resume() }
    }

    /// Starts the task and drives it to its end, and notifies its delegate or its completion handler.
    ///
    /// Failures are reported to them, not thrown.
    public nonisolated(nonsending) func run() async {}

    /// Waits for the task's end; a task that is not driven does not end.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = load.record.withLock { record in
                if record.phase != .completed { record.waiters.append(continuation) }
                return record.phase == .completed
            }
            if isOver { continuation.resume() }
        }
    }

    /// Whether the task has something to do between the body's end and its own.
    var endsItself: Bool { false }

    /// The request to make after a response that would be the final one; nil when it is.
    func request(after response: Response) -> Request? { nil }

    /// The error to end with.
    func finalError(_ error: LoadError) -> LoadError { error }

    /// Notes that a delegate wants the body in a file.
    func becomesDownload() {}

    /// The response of a download that is complete on disk already.
    nonisolated(nonsending) func completeOnDisk() async -> Response? { nil }

    /// The delegate that is notified.
    var notifiedDelegate: (any TaskDelegate)? { delegate ?? session.delegate }

    /// Whether response, data and completion are reported to the delegate.
    var reportsResponses: Bool { true }

    /// Runs work of the load for the task that awaits it; when that is cancelled, so is this one.
    ///
    /// Everything happens on the loop. The preference is for the waits in between: without it every wait would end on a
    /// thread of the pool first. A caller that has it already is not given it again, since each is looked through at every
    /// wait. The closures are isolated as the function is, which a caller on the loop enters at once:
    /// each step that was not would be a turn of the loop.
    func serve<Result: Sendable>(
        on loop: isolated TransferLoop, _ work: @Sendable (isolated TransferLoop) async throws(LoadError) -> Result
    ) async throws(LoadError) -> Result {
        do {
            return try await withTaskCancellationHandler {
                guard !loop.eventLoop.isPreferred else { return try await work(loop) }
                return try await withTaskExecutorPreference(loop.eventLoop) { try await work(loop) }
            } onCancel: {
                cancel()
            }
        } catch {
            throw Self.loadError(error)
        }
    }

    /// Not inlined: the frames that wait for loads would have room for it.
    @inline(never)
    private static func loadError(_ error: any Error) -> LoadError {
        error as? LoadError ?? LoadError(.unknown, "The load failed.")
    }
}
