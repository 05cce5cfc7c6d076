import EventLoop
public import HTTPTypes
import Synchronization

/// One load, with every hop it takes, and what became of it.
public final class DataTask: Sendable {
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

    /// Its number within the session.
    public let identifier: UInt64
    /// The request it was made with.
    public let originalRequest: Request
    /// How it behaves: the session's configuration or its own.
    public let configuration: SessionConfiguration
    /// Who is asked and told before the session's delegate.
    public let delegate: (any TaskDelegate)?
    /// The session it belongs to.
    public let session: Session
    let load: Load

    init(
        identifier: UInt64, request: Request, configuration: SessionConfiguration, session: Session, load: Load,
        delegate: (any TaskDelegate)?
    ) {
        self.identifier = identifier
        originalRequest = request
        self.configuration = configuration
        self.session = session
        self.load = load
        self.delegate = delegate
    }

    deinit {
        guard load.record.withLock({ $0.state != .completed }) else { return }
        load.abandon()
        session.ended(identifier)
    }

    /// Where the task is in its life.
    public var state: State {
        load.record.withLock { $0.state == .running && $0.suspensions > 0 ? .suspended : $0.state }
    }

    /// The request of the hop at hand.
    public var currentRequest: Request { load.record.withLock { $0.currentRequest } ?? originalRequest }

    /// The final response, once it has come.
    public var response: Response? { load.record.withLock { $0.response } }

    /// The fields that came after the body; empty before its end.
    public var trailerFields: HTTPFields { load.record.withLock { $0.trailers } }

    /// The whole body, when ``response(bufferingUpTo:)`` waited for it.
    public var completeBody: [UInt8]? { load.record.withLock { $0.completeBody } }

    /// The redirects followed so far.
    public var redirects: [Redirect] { load.record.withLock { $0.redirects } }

    /// How many bytes of bodies have come, those of redirects included.
    public var countOfBytesReceived: Int64 { load.countOfBytesReceived.load(ordering: .relaxed) }

    /// How many bytes of the body have been handed to the connection, repeats included.
    public var countOfBytesSent: Int64 { load.countOfBytesSent.load(ordering: .relaxed) }

    /// How many bytes the final response announced; nil when it did not or has not come.
    public var countOfBytesExpectedToReceive: Int64? { response?.expectedContentLength }

    /// All transactions so far; final once the task is over.
    public var metrics: TaskMetrics {
        load.record.withLock { record in
            let start = record.start ?? .now
            let interval = (record.end ?? .now).nanoseconds(since: start)
            return TaskMetrics(
                taskInterval: .nanoseconds(interval), redirectCount: record.redirects.count,
                transactions: record.transactions)
        }
    }

    /// Takes back one ``suspend()``.
    ///
    /// A load is driven by who awaits it: ``response(bufferingUpTo:)``, ``body`` or ``run()``, which also starts it.
    public func resume() { changeSuspensions { $0 = max(0, $0 - 1) } }

    /// Holds the transfer where it is, timers included, until ``resume()`` was called as often.
    public func suspend() { changeSuspensions { $0 += 1 } }

    private func changeSuspensions(_ change: (inout Int) -> Void) {
        load.record.withLock { change(&$0.suspensions) }
        load.suspensionChanged()
    }

    /// Ends the task with `cancelled`, at any moment before its end; harmless afterwards.
    public func cancel() { load.end(with: LoadError(.cancelled, "The task was cancelled.")) }

    /// Starts the task and returns its final response.
    ///
    /// Returns when the load is complete with a body of at most `limit` bytes, which ``completeBody`` then holds.
    /// When the body is larger it returns as soon as that is known, and ``body`` gives all of it. With no limit it
    /// returns with the head. Cancelling the calling task cancels the load. May be called once.
    ///
    /// - Parameter limit: How much of the body to wait for and keep in memory.
    public func response(bufferingUpTo limit: Int = 0) async throws(LoadError) -> Response {
        do {
            return try await withTaskCancellationHandler {
                try await session.transferLoop.response(of: self, bufferingUpTo: max(0, limit))
            } onCancel: {
                cancel()
            }
        } catch {
            throw error as? LoadError ?? LoadError(.unknown, "The load failed.")
        }
    }

    /// The bytes of the body, as they come.
    ///
    /// For one reader, once, after the response.
    public var body: ResponseBody { ResponseBody(task: self) }

    /// Starts the task and drives it to its end, telling the delegates everything, data included.
    ///
    /// Failures go to the delegates; they are not thrown.
    public func run() async {
        do {
            _ = try await response()
            for try await chunk in body { await teller?.task(self, didReceive: chunk) }
        } catch {
            // The delegate has it from `didCompleteWith`.
        }
    }

    /// Who is told.
    var teller: (any TaskDelegate)? { delegate ?? session.delegate }
}
