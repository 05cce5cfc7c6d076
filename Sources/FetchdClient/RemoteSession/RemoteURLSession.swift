public import FetchEngine
import Foundation
import Synchronization

/// Tasks that a service of Fetchd loads, in the words of URLSession.
///
/// A session holds its delegate until it is invalidated. A background session is found again by its identifier, by any
/// process: the tasks that are not over become tasks of it again.
///
/// ```swift
/// let session = RemoteURLSession(service, configuration: .background(withIdentifier: "nightly"), delegate: delegate)
/// for task in await session.allTasks { print(task.taskIdentifier, task.state) }
/// session.downloadTask(with: request).resume()
/// ```
public final class RemoteURLSession: Sendable {
    private struct Tasks {
        var delegate: (any RemoteURLSessionDelegate)?
        var live: [Int: RemoteURLSessionTask] = [:]
        var next: Int
        var isInvalidated = false
        var isOver = false
        /// Ends with the session of the service, once those tasks are there that it has.
        var attaching: Task<Result<ServiceSession?, FetchdError>, Never>?
    }

    /// How its tasks behave.
    public let configuration: RemoteURLSessionConfiguration
    /// The service that loads them.
    public let service: FetchdService
    private let tasks: Mutex<Tasks>

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - service: The service that loads its tasks.
    ///   - configuration: How they behave.
    ///   - delegate: Decides about loads and is notified of them; kept until the session is invalidated.
    public init(
        _ service: FetchdService, configuration: RemoteURLSessionConfiguration = .default,
        delegate: (any RemoteURLSessionDelegate)? = nil
    ) {
        self.service = service
        self.configuration = configuration
        // No identifier of an earlier process comes again, though this one does not know them yet.
        let first = configuration.isBackground ? Int(Date.now.timeIntervalSince1970 * 1000) : 1
        tasks = Mutex(Tasks(delegate: delegate, next: first))
        guard let identifier = configuration.identifier else { return }
        let attaching = start { await self.attach(identifier) }
        tasks.withLock { $0.attaching = attaching }
    }

    /// The delegate; nil after invalidation.
    public var delegate: (any RemoteURLSessionDelegate)? { tasks.withLock { $0.delegate } }

    /// The tasks that are not over, in the order of their identifiers; of a background session those of earlier processes
    /// too, which are waited for.
    public var allTasks: [RemoteURLSessionTask] {
        get async {
            _ = try? await remote()
            return tasks.withLock { $0.live.values.sorted { $0.taskIdentifier < $1.taskIdentifier } }
        }
    }

    // MARK: Making tasks

    /// Makes a data task; background sessions have none.
    public func dataTask(with request: Request) -> RemoteURLSessionTask { made(.data, request) }

    /// Makes a task whose body the service keeps as a file, and then gives as one.
    public func downloadTask(with request: Request) -> RemoteURLSessionTask { made(.download, request) }

    /// Makes a task that sends a body, which is stored at the service when the task is resumed.
    ///
    /// - Parameters:
    ///   - request: Where to and how; a body it has is replaced.
    ///   - body: The body to send; of a stream that comes once only, the task fails when the connection to the service
    ///     breaks meanwhile.
    public func uploadTask(with request: Request, from body: RequestBody) -> RemoteURLSessionTask {
        var request = request
        request.body = body
        return made(.upload, request)
    }

    private func made(_ kind: Job.Kind, _ request: Request) -> RemoteURLSessionTask {
        let identifier = tasks.withLock { tasks in
            defer { tasks.next += 1 }
            return tasks.next
        }
        let task = RemoteURLSessionTask(kind, identifier, request, in: self)
        tasks.withLock { tasks in
            if !tasks.isInvalidated { tasks.live[identifier] = task }
        }
        return task
    }

    /// Runs a task to its end; one of an invalidated session fails.
    func run(_ task: RemoteURLSessionTask) {
        let isRefused = tasks.withLock { $0.live[task.taskIdentifier] == nil }
        start {
            let refusal = isRefused ? LoadError(.sessionInvalidated, "The session was invalidated.") : nil
            var run = TaskRun(task)
            await run.run(unless: refusal)
        }
    }

    // MARK: The session of the service

    /// The session of the service; nil where it is the tenant's default one.
    func remote() async throws(FetchdError) -> ServiceSession? {
        guard let attaching = tasks.withLock({ $0.attaching }) else { return nil }
        return try await attaching.value.get()
    }

    /// Finds or makes the session, and makes its jobs tasks again.
    private func attach(_ identifier: String) async -> Result<ServiceSession?, FetchdError> {
        do throws(FetchdError) {
            let session = try await persistently { () async throws(FetchdError) in
                try await service.sessions.background(identifier, configuration.document(for: nil, idle: nil))
            }
            let jobs = try await persistently { () async throws(FetchdError) in try await openJobs(of: session) }
            for job in jobs { adopt(job) }
            return .success(session)
        } catch { return .failure(error) }
    }

    private func openJobs(of session: ServiceSession) async throws(FetchdError) -> [Job] {
        var jobs: [Job] = []
        let label = "\(TaskLabels.state):\(TaskLabels.open)"
        for try await summary in service.jobs.list(session: session.id, label: label) {
            jobs.append(try await service.jobs.get(summary.id))
        }
        return jobs
    }

    private func adopt(_ job: Job) {
        guard let identifier = job.labels[TaskLabels.identifier].flatMap({ Int($0) }) else { return }
        let task = tasks.withLock { tasks -> RemoteURLSessionTask? in
            // It may be a task of this process, which was submitted meanwhile.
            guard tasks.live[identifier] == nil, let task = RemoteURLSessionTask(job, identifier, in: self) else {
                return nil
            }
            tasks.live[identifier] = task
            return task
        }
        if let task { run(task) }
    }

    // MARK: The end

    /// Refuses new tasks; those there are finish.
    ///
    /// Then the delegate is notified for the last time and released, and the identifier of a background session is free.
    public func finishTasksAndInvalidate() { invalidate(cancelling: false) }

    /// Refuses new tasks and cancels those there are.
    ///
    /// Then the delegate is notified for the last time and released, and the identifier of a background session is free.
    public func invalidateAndCancel() { invalidate(cancelling: true) }

    private func invalidate(cancelling: Bool) {
        tasks.withLock { $0.isInvalidated = true }
        start { [self] in
            // Those of earlier processes are among them.
            _ = try? await remote()
            let live = tasks.withLock { Array($0.live.values) }
            if cancelling { for task in live { task.cancel() } }
            if live.isEmpty { await letGo() }
        }
    }

    /// A task is over, and the delegate was told so.
    func ended(_ task: RemoteURLSessionTask) async {
        _ = try? await remote()
        let (isEmpty, isInvalidated) = tasks.withLock { tasks in
            tasks.live[task.taskIdentifier] = nil
            return (tasks.live.isEmpty, tasks.isInvalidated)
        }
        guard isEmpty else { return }
        if configuration.isBackground { await delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self) }
        if isInvalidated { await letGo() }
    }

    private func letGo() async {
        let isFirst = tasks.withLock { tasks in
            defer { tasks.isOver = true }
            return !tasks.isOver
        }
        guard isFirst else { return }
        if let session = try? await remote() {
            // Without it the session stays, and its identifier with it, which is no harm.
            try? await service.sessions.invalidate(session.id, mode: "finish")
        }
        await delegate?.urlSession(self, didBecomeInvalidWithError: nil)
        tasks.withLock { $0.delegate = nil }
    }
}
