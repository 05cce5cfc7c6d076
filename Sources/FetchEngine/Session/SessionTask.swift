import EventLoop
public import HTTPTypes
import Synchronization

/// One load, with every hop it takes, and what became of it.
///
/// A task is made suspended and sends nothing. It is driven in one of two ways: somebody awaits its result
/// (``DataTask/response(bufferingUpTo:)``, ``DownloadTask/result()``), or ``resume()`` starts it and a delegate or a
/// completion handler is told.
///
/// The compiler cannot check that a class with subclasses is Sendable; all that they store is a `let` of such a type.
public class SessionTask: @unchecked Sendable {
    /// Where a task is in its life.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It was not started yet, or was suspended.
        case suspended
        /// It loads.
        case running
        /// It was cancelled, and its end has not been told yet.
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
    /// Who is asked and told before the session's delegate.
    public let delegate: (any TaskDelegate)?
    /// The session it belongs to.
    public let session: Session
    /// When it may begin; `nil` is at once.
    ///
    /// A task that is started earlier waits, and then asks `willBeginDelayedRequest`.
    public let earliestBegin: ContinuousClock.Instant?
    let load: Load

    init(_ creation: Creation) {
        identifier = creation.identifier
        originalRequest = creation.request
        shared = creation.configuration
        session = creation.session
        load = creation.load
        delegate = creation.delegate
        earliestBegin = creation.earliestBegin
    }

    /// What a task of any kind is made of.
    struct Creation {
        var identifier: UInt64
        var request: Request
        var configuration: SharedConfiguration
        var session: Session
        var load: Load
        var delegate: (any TaskDelegate)?
        var earliestBegin: ContinuousClock.Instant?
    }

    deinit {
        guard load.record.withLock({ $0.state != .completed }) else { return }
        load.abandon()
        session.ended(identifier)
    }

    // MARK: Looking

    /// Where the task is in its life.
    public var state: State {
        load.record.withLock { $0.state == .running && $0.suspensions > 0 ? .suspended : $0.state }
    }

    /// The request of the hop at hand.
    public var currentRequest: Request { load.record.withLock { $0.currentRequest } ?? originalRequest }

    /// The final response, once it has come.
    public var response: Response? { load.record.withLock { $0.response } }

    /// Why the task failed; `nil` while it runs and when it is complete.
    public var error: LoadError? { load.record.withLock { $0.error } }

    /// The fields that came after the body; empty before its end.
    public var trailerFields: HTTPFields { load.record.withLock { $0.trailers } }

    /// The redirects followed so far.
    public var redirects: [Redirect] { load.record.withLock { $0.steps }.redirects }

    /// The challenges met so far, of servers and of proxies.
    public var challenges: [AnsweredChallenge] {
        steps.compactMap { if case .challenged(let challenge) = $0 { challenge } else { nil } }
    }

    /// The redirects and challenges that the task has met so far, in their order.
    public var steps: [LoadStep] { load.record.withLock { $0.steps } }

    /// How soon the task gets a connection and its share of a shared one, from 0.0 to 1.0.
    ///
    /// A hint: of the tasks that wait for a connection to one origin the highest goes first. It may be changed at any
    /// time; a task that has its connection is not moved.
    public var priority: Float {
        get { load.record.withLock { $0.priority } }
        set {
            load.record.withLock { $0.priority = min(max(newValue, 0), 1) }
            load.priorityChanged()
        }
    }

    /// How many bytes a second each transfer of the task may receive, and as many send; `nil` for any number.
    ///
    /// At first what its configuration says. It may be changed at any time; a task that runs goes by it within a
    /// second.
    public var maximumBytesPerSecond: Int64? {
        get { load.record.withLock { $0.maximumBytesPerSecond } ?? configuration.maximumBytesPerSecond }
        set {
            load.record.withLock { $0.maximumBytesPerSecond = .some(newValue) }
            load.speedChanged()
        }
    }

    /// Says which bandwidths the task shares with others at the moment; nil, the default, when it never shares any.
    ///
    /// To be set before the task is resumed. It is asked before each piece of a body, on the thread that moves the
    /// bytes, so it has to be quick; what it answers may change.
    public var bandwidths: (@Sendable () -> [Bandwidth])? {
        get { load.record.withLock { $0.bandwidths } }
        set { load.record.withLock { $0.bandwidths = newValue } }
    }

    /// What the program calls the task; nil at first.
    ///
    /// Delegates and stores may read it; the engine does nothing with it.
    public var taskDescription: String? {
        get { load.record.withLock { $0.taskDescription } }
        set { load.record.withLock { $0.taskDescription = newValue } }
    }

    /// How many bytes of bodies have come, those of redirects included.
    public var countOfBytesReceived: Int64 { load.countOfBytesReceived.load(ordering: .relaxed) }

    /// How many bytes of the request body have been handed to the connection.
    ///
    /// Starts again when the body has to be sent again.
    public var countOfBytesSent: Int64 { load.countOfBytesSent.load(ordering: .relaxed) }

    /// How many bytes the final response announced; nil when it did not or has not come.
    public var countOfBytesExpectedToReceive: Int64? { response?.expectedContentLength }

    /// How many bytes the request body has; nil when nobody knows, 0 when there is none.
    public var countOfBytesExpectedToSend: Int64? { currentRequest.expectedBodyLength }

    /// How far the task is, of what it sends and receives together.
    public var progress: TaskProgress { TaskProgress(self) }

    /// All transactions so far; final once the task is over.
    public var metrics: TaskMetrics {
        load.record.withLock { record in
            let start = record.start ?? .now
            let interval = (record.end ?? .now).nanoseconds(since: start)
            return TaskMetrics(
                taskInterval: .nanoseconds(interval), redirectCount: record.steps.redirects.count,
                transactions: record.transactions)
        }
    }

    // MARK: Driving

    /// Starts the task, or takes back one ``suspend()``.
    ///
    /// A task whose end somebody is told of, a delegate or a completion handler, runs from now on by itself. Another
    /// one is driven by who awaits it.
    public func resume() {
        let isFirst = load.record.withLock { record in
            record.suspensions = max(0, record.suspensions - 1)
            guard record.suspensions == 0, !record.hasStarted, record.driver == nil, drivesItself else { return false }
            record.driver = session.transferLoop.start { _ in await self.run() }
            return true
        }
        if !isFirst { load.suspensionChanged() }
    }

    /// Whether there is somebody to tell who does not await the task.
    var drivesItself: Bool { teller != nil }

    /// Holds the transfer where it is, timers included, until ``resume()`` was called as often.
    public func suspend() {
        load.record.withLock { $0.suspensions += 1 }
        load.suspensionChanged()
    }

    /// Ends the task with `cancelled`, at any moment before its end; harmless afterwards.
    ///
    /// One that was never started ends too, and its end is told.
    public func cancel() {
        load.end(with: LoadError(.cancelled, "The task was cancelled."))
        let neverRan = load.record.withLock { !$0.hasStarted && $0.driver == nil }
        if neverRan { resume() }
    }

    /// Starts the task and drives it to its end, telling whoever is to be told.
    ///
    /// Failures are told, not thrown.
    public nonisolated(nonsending) func run() async {}

    /// Waits for the task's end; one that nobody drives has none.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = load.record.withLock { record in
                if record.state != .completed { record.waiters.append(continuation) }
                return record.state == .completed
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

    /// Who is told.
    var teller: (any TaskDelegate)? { delegate ?? session.delegate }

    /// Whether the teller hears of response, data and completion.
    var hearsResponses: Bool { true }

    /// Who is asked, one after the other.
    var askable: [any TaskDelegate] { [delegate, session.delegate].compactMap { $0 as (any TaskDelegate)? } }
}

extension Request {
    /// The length of the body as far as it is known before it is sent.
    var expectedBodyLength: Int64? {
        guard bodyCoding == nil else { return body == nil ? 0 : nil }
        return wholeBodyLength.map { $0 - bodyOffset }
    }

    private var wholeBodyLength: Int64? {
        switch body {
        case nil: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let path): FileSize.of(path)
        case .segments(let segments): FileSize.of(segments)
        case .stream(let length, _): length
        }
    }
}
