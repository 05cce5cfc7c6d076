import Synchronization

/// The progress of several tasks as one, as Foundation's `Progress` has it with its children.
///
/// Each child has a share of its parent's units. What is done to the parent is done to all that are below it.
///
/// ```swift
/// let progress = ParentProgress(totalUnitCount: 3)
/// progress.addChild(task, withPendingUnitCount: 2)
/// progress.addChild(session.downloadTask(with: request), withPendingUnitCount: 1)
/// progress.pause()
/// progress.resume()
/// print(progress.fractionCompleted, progress.throughput)
/// ```
public final class ParentProgress: Sendable {
    fileprivate enum Child {
        case task(SessionTask)
        case progress(ParentProgress)
    }

    private struct State {
        var children: [(child: Child, units: Int64)] = []
        var isPaused = false
        var isCancelled = false
    }

    /// How many units its children have together when all of them are there.
    public let totalUnitCount: Int64
    private let state = Mutex(State())

    /// Makes one without children.
    public init(totalUnitCount: Int64) { self.totalUnitCount = totalUnitCount }

    // MARK: Children

    /// Adds a task, which is suspended or cancelled if this is.
    ///
    /// - Parameters:
    ///   - task: The task; it is held as long as this is.
    ///   - count: How many units are completed when the task is.
    public func addChild(_ task: SessionTask, withPendingUnitCount count: Int64) { add(.task(task), count) }

    /// Adds the progress of further tasks, which is paused or cancelled if this is.
    ///
    /// - Parameters:
    ///   - progress: The progress; it must not have this one below it.
    ///   - count: How many units are completed when all of it is.
    public func addChild(_ progress: ParentProgress, withPendingUnitCount count: Int64) {
        add(.progress(progress), count)
    }

    private func add(_ child: Child, _ count: Int64) {
        let (isPaused, isCancelled) = state.withLock { state in
            state.children.append((child, count))
            return (state.isPaused, state.isCancelled)
        }
        if isPaused { child.pause() }
        if isCancelled { child.cancel() }
    }

    private var children: [(child: Child, units: Int64)] { state.withLock { $0.children } }

    // MARK: Looking

    /// The units of the children that are complete.
    public var completedUnitCount: Int64 { children.reduce(0) { $0 + ($1.child.isFinished ? $1.units : 0) } }

    /// From 0.0 to 1.0, with the parts of children that are not complete; 0 of a child that does not know.
    public var fractionCompleted: Double {
        guard totalUnitCount > 0 else { return 0 }
        let units = children.reduce(0) { $0 + $1.child.fractionCompleted * Double($1.units) }
        return min(1, units / Double(totalUnitCount))
    }

    /// Whether all units are completed.
    public var isFinished: Bool { completedUnitCount >= totalUnitCount }

    /// Bytes sent and received per second by the tasks that run, together.
    public var throughput: Double { children.reduce(0) { $0 + $1.child.throughput } }

    /// How long the rest takes at the throughput so far; `nil` while that, or the size of a task, is unknown.
    public var estimatedTimeRemaining: Duration? {
        guard let left = countOfBytesLeft, case let throughput = throughput, throughput > 0 else { return nil }
        return .seconds(Double(left) / throughput)
    }

    private var countOfBytesLeft: Int64? {
        children.reduce(0) { sum, next in
            guard let sum, let left = next.child.countOfBytesLeft else { return nil }
            return sum + left
        }
    }

    /// Whether it was paused and not resumed since.
    public var isPaused: Bool { state.withLock { $0.isPaused } }
    /// Whether it was cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: Driving

    /// Suspends the tasks; more than once is the same as once.
    public func pause() {
        guard setPaused(true) else { return }
        for (child, _) in children { child.pause() }
    }

    /// Takes back ``pause()``; as ``SessionTask/resume()`` it starts a task that was never started.
    public func resume() {
        guard setPaused(false) else { return }
        for (child, _) in children { child.resume() }
    }

    private func setPaused(_ isPaused: Bool) -> Bool {
        state.withLock { state in
            defer { state.isPaused = isPaused }
            return state.isPaused != isPaused
        }
    }

    /// Cancels the tasks.
    public func cancel() {
        state.withLock { $0.isCancelled = true }
        for (child, _) in children { child.cancel() }
    }
}

extension ParentProgress.Child {
    var isFinished: Bool {
        switch self {
        case .task(let task): task.state == .completed && task.error == nil
        case .progress(let progress): progress.isFinished
        }
    }

    var fractionCompleted: Double {
        switch self {
        case .task(let task): isFinished ? 1 : task.progress.fractionCompleted ?? 0
        case .progress(let progress): progress.fractionCompleted
        }
    }

    var throughput: Double {
        switch self {
        case .task(let task): task.state == .running ? task.progress.throughput : 0
        case .progress(let progress): progress.throughput
        }
    }

    /// Nil while it is unknown; 0 for a task that is over.
    var countOfBytesLeft: Int64? {
        switch self {
        case .task(let task):
            guard task.state != .completed else { return 0 }
            let progress = task.progress
            return progress.totalUnitCount.map { max(0, $0 - progress.completedUnitCount) }
        case .progress(let progress): return progress.countOfBytesLeft
        }
    }

    func pause() {
        switch self {
        case .task(let task): task.suspend()
        case .progress(let progress): progress.pause()
        }
    }

    func resume() {
        switch self {
        case .task(let task): task.resume()
        case .progress(let progress): progress.resume()
        }
    }

    func cancel() {
        switch self {
        case .task(let task): task.cancel()
        case .progress(let progress): progress.cancel()
        }
    }
}
