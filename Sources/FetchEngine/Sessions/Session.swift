import EventLoop
import Synchronization

/// Coordinates a group of loads that share a configuration, connections and a delegate.
///
/// A session holds its delegate until it is invalidated.
public final class Session: Sendable {
    private struct State {
        var delegate: (any SessionDelegate)?
        var isInvalidated = false
        var count = 0
        var tasks: [UInt64: WeakTask] = [:]
    }

    private struct WeakTask {
        weak var load: Load?
    }

    private static let identifiers = Atomic<UInt64>(0)

    /// How its loads behave.
    ///
    /// Cannot be changed; a task may be given a configuration of its own.
    public let configuration: SessionConfiguration
    let transferLoop: TransferLoop
    let identifier: UInt64
    private let state: Mutex<State>

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: How its loads behave.
    ///   - delegate: Who is asked and told; kept until the session is invalidated.
    ///   - transferLoop: The loop its transfers run on.
    public init(
        configuration: SessionConfiguration = .default,
        delegate: (any SessionDelegate)? = nil,
        transferLoop: TransferLoop = .shared
    ) {
        self.configuration = configuration
        self.transferLoop = transferLoop
        identifier = Self.identifiers.add(1, ordering: .relaxed).newValue
        state = Mutex(State(delegate: delegate))
    }

    deinit { closeConnections() }

    /// Who is asked and told; nil after invalidation.
    public var delegate: (any SessionDelegate)? { state.withLock { $0.delegate } }

    /// Makes a task.
    ///
    /// Nothing is sent before the task is asked for its response or run.
    ///
    /// - Parameters:
    ///   - request: What to load.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    public func dataTask(
        with request: Request, configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil
    ) -> DataTask {
        let load = Load(loop: transferLoop.eventLoop)
        let (identifier, isRefused) = state.withLock { state in
            state.count += 1
            let identifier = UInt64(state.count)
            if !state.isInvalidated { state.tasks[identifier] = WeakTask(load: load) }
            return (identifier, state.isInvalidated)
        }
        if isRefused { load.cancellation = LoadError(.sessionInvalidated, "The session was invalidated.") }
        return DataTask(
            identifier: identifier, request: request, configuration: configuration ?? self.configuration,
            session: self, load: load, delegate: delegate)
    }

    /// Loads a whole body into memory.
    ///
    /// Cancelling the calling task cancels the load.
    public func data(
        for request: Request, configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> ([UInt8], Response) {
        let task = dataTask(with: request, configuration: configuration, delegate: delegate)
        let response = try await task.response(bufferingUpTo: Transfer.highWater)
        if let body = task.completeBody { return (body, response) }
        var body: [UInt8] = []
        for try await chunk in task.body { body.append(contentsOf: chunk) }
        return (body, response)
    }

    /// Refuses new tasks; those there are finish.
    ///
    /// Then the delegate is let go.
    public func finishTasksAndInvalidate() {
        let isDone = state.withLock { state in
            state.isInvalidated = true
            return state.tasks.isEmpty
        }
        if isDone { letGo() }
    }

    /// Refuses new tasks and cancels those there are.
    ///
    /// Then the delegate is let go.
    public func invalidateAndCancel() {
        let loads = state.withLock { state in
            state.isInvalidated = true
            return state.tasks.values.compactMap(\.load)
        }
        for load in loads { load.end(with: LoadError(.cancelled, "The session was invalidated.")) }
        if loads.isEmpty { letGo() }
    }

    /// A task is over, or gone before it began.
    func ended(_ identifier: UInt64) {
        let isDone = state.withLock { state in
            state.tasks[identifier] = nil
            return state.isInvalidated && state.tasks.isEmpty
        }
        if isDone { letGo() }
    }

    private func letGo() {
        state.withLock { $0.delegate = nil }
        closeConnections()
    }

    private func closeConnections() {
        let (loop, identifier) = (transferLoop, identifier)
        loop.eventLoop.perform { loop.assumeIsolated { $0.close(session: identifier) } }
    }
}
