import EventLoop
import Synchronization

/// Coordinates a group of loads that share a configuration, connections and a delegate.
///
/// A session holds its delegate until it is invalidated.
///
/// ```swift
/// var configuration = SessionConfiguration.default
/// configuration.timeoutIntervalForRequest = .seconds(10)
/// let session = Session(configuration: configuration)
/// let (body, response) = try await session.data(for: Request("https://example.org/"))
/// session.finishTasksAndInvalidate()
/// ```
public final class Session: Sendable {
    private struct Tasks {
        var delegate: (any SessionDelegate)?
        var isInvalidated = false
        var isOver = false
        var count: UInt64 = 0
        var live: [UInt64: WeakTask] = [:]
    }

    private struct WeakTask {
        weak var task: SessionTask?
    }

    private static let identifiers = Atomic<UInt64>(0)

    /// How its loads behave.
    ///
    /// Cannot be changed; a task may be given a configuration of its own.
    public var configuration: SessionConfiguration { shared.value }

    /// The configuration in its place, of which members can be read without a copy of the whole.
    package let shared: SharedConfiguration
    /// The program's name for the session, for its own use.
    public let sessionDescription: String?
    /// The loop its transfers run on.
    public let transferLoop: TransferLoop
    /// The state that its loads share.
    let state: SessionState
    private let background: BackgroundIdentifier?
    private let tasks: Mutex<Tasks>

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: How its loads behave.
    ///   - delegate: Decides about loads and is notified of them; kept until the session is invalidated.
    ///   - description: A name of the program for the session.
    ///   - transferLoop: The loop its transfers run on.
    public convenience init(
        configuration: SessionConfiguration = .default,
        delegate: (any SessionDelegate)? = nil,
        description: String? = nil,
        transferLoop: TransferLoop = .shared
    ) {
        self.init(configuration, delegate, description, transferLoop, background: nil)
    }

    /// Makes a background session: uploads of files, and downloads, over http and https, redirects always followed.
    ///
    /// A task of another kind, another scheme and a body from memory or of a stream fail with `unsupportedURL`.
    ///
    /// - Parameters:
    ///   - identifier: Names the session; one at a time may have a name. It is free again once the session was
    ///     invalidated and its last task is over.
    ///   - configuration: How its loads behave; its kind becomes `background`.
    ///   - delegate: Is notified of the ends.
    ///   - transferLoop: The loop its transfers run on.
    /// - Throws: `backgroundSessionInUseByAnotherProcess` when a live session has the identifier.
    public convenience init(
        background identifier: String,
        configuration: SessionConfiguration = .background,
        delegate: any SessionDelegate,
        transferLoop: TransferLoop = .shared
    ) throws(LoadError) {
        let background = try BackgroundIdentifier(identifier)
        var configuration = configuration
        configuration.kind = .background
        self.init(configuration, delegate, identifier, transferLoop, background: background)
    }

    private init(
        _ configuration: SessionConfiguration, _ delegate: (any SessionDelegate)?, _ description: String?,
        _ transferLoop: TransferLoop, background: BackgroundIdentifier?
    ) {
        shared = SharedConfiguration(configuration)
        self.transferLoop = transferLoop
        self.background = background
        sessionDescription = description
        state = SessionState(identifier: Self.identifiers.add(1, ordering: .relaxed).newValue)
        tasks = Mutex(Tasks(delegate: delegate))
    }

    deinit {
        background?.release()
        closeConnections()
    }

    /// The delegate of the session; nil after invalidation.
    public var delegate: (any SessionDelegate)? { tasks.withLock { $0.delegate } }

    // MARK: Tasks

    /// The parts of a new task; a task of an invalidated session fails when it is started.
    func creation(
        of request: Request, _ configuration: SharedConfiguration?, _ delegate: (any TaskDelegate)?,
        notBefore earliestBegin: ContinuousClock.Instant? = nil
    ) -> SessionTask.Creation {
        let (identifier, isRefused) = tasks.withLock { tasks in
            tasks.count += 1
            return (tasks.count, tasks.isInvalidated)
        }
        return SessionTask.Creation(
            identifier: identifier, request: request, configuration: configuration ?? shared, session: self,
            isRefused: isRefused, delegate: delegate, earliestBegin: earliestBegin)
    }

    /// Remembers a task until its end.
    func made<Made: SessionTask>(_ task: Made) -> Made {
        tasks.withLock { tasks in
            if !tasks.isInvalidated { tasks.live[task.identifier] = WeakTask(task: task) }
        }
        return task
    }

    /// The tasks that are not over, in the order they were made.
    public var allTasks: [SessionTask] {
        let live = tasks.withLock { $0.live.values.compactMap(\.task) }
        return live.sorted { $0.identifier < $1.identifier }
    }

    /// A task is over, or gone before it began.
    func ended(_ identifier: UInt64) {
        let (isEmpty, isInvalidated) = tasks.withLock { tasks in
            tasks.live[identifier] = nil
            return (tasks.live.isEmpty, tasks.isInvalidated)
        }
        guard isEmpty else { return }
        if isInvalidated { letGo() }
    }

    /// Whether the session's kind has such tasks (BKG-4).
    func allows(_ task: SessionTask) -> Bool {
        task.shared.value.kind != .background || task is UploadTask || !(task is DataTask)
    }

    /// Notifies a background session's delegate that all its events have been delivered.
    ///
    /// Called after the last call of a task.
    nonisolated(nonsending) func noteEndOfEvents() async {
        guard background != nil, let delegate, tasks.withLock({ $0.live.isEmpty }) else { return }
        await delegate.sessionDidFinishEventsForBackgroundSession(self)
    }

    // MARK: The end

    /// Refuses new tasks; those there are finish.
    ///
    /// Then the delegate is notified for the last time and released.
    public func finishTasksAndInvalidate() {
        let isDone = tasks.withLock { tasks in
            tasks.isInvalidated = true
            return tasks.live.isEmpty
        }
        if isDone { letGo() }
    }

    /// Refuses new tasks and cancels those there are.
    ///
    /// Then the delegate is notified for the last time and released.
    public func invalidateAndCancel() {
        let live = tasks.withLock { tasks in
            tasks.isInvalidated = true
            return tasks.live.values.compactMap(\.task)
        }
        for task in live { task.cancel() }
        if live.isEmpty { letGo() }
    }

    private func letGo() {
        let isFirst = tasks.withLock { tasks in
            defer { tasks.isOver = true }
            return !tasks.isOver
        }
        guard isFirst else { return }
        closeConnections()
        // A storage that a program brought along keeps its cookies.
        (configuration.httpCookieStorage as? MemoryCookieStorage)?.sessionEnded()
        background?.release()
        guard let delegate else { return }
        transferLoop.start { [self] _ in
            await delegate.session(self, didBecomeInvalidWith: nil)
            tasks.withLock { $0.delegate = nil }
        }
    }

    /// Gives up the connections that are idle, so that the next loads make new ones.
    public func flush() { closeConnections() }

    private func closeConnections() {
        let (loop, identifier) = (transferLoop, state.identifier)
        loop.eventLoop.perform { loop.assumeIsolated { $0.close(session: identifier) } }
    }
}
