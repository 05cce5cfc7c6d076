public import FetchEngine
import Foundation
import Synchronization

/// One load of a ``RemoteURLSession``: a job of the service.
///
/// A task is made suspended, and becomes a job when it is resumed for the first time. What it knows is kept with the job.
///
/// ```swift
/// let task = session.downloadTask(with: request)
/// task.taskDescription = "iso"
/// task.resume()
/// ```
public final class RemoteURLSessionTask: Sendable {
    /// What the service is to be asked.
    enum Command: Sendable { case suspend, resume, cancel, describe }

    private struct Values {
        var kind: Job.Kind
        var phase = SessionTask.State.suspended
        var isHeld = false
        var hasStarted = false
        var description: String?
        var priority = SessionTask.defaultPriority
        var currentRequest: Request
        var response: Response?
        var error: LoadError?
        var progress: Job.Progress?
        var jobID: String?
    }

    /// Its number within the session, which it keeps over processes.
    public let taskIdentifier: Int
    /// The request that it was made with; of a task that an earlier process has made, without secrets and body.
    public let originalRequest: Request
    /// The session it belongs to.
    public let session: RemoteURLSession
    /// Whether an earlier process has made it.
    let isAdopted: Bool
    let commands: AsyncStream<Command>
    private let command: AsyncStream<Command>.Continuation
    private let values: Mutex<Values>

    init(_ kind: Job.Kind, _ identifier: Int, _ request: Request, in session: RemoteURLSession) {
        (taskIdentifier, originalRequest, self.session, isAdopted) = (identifier, request, session, false)
        (commands, command) = AsyncStream.makeStream()
        values = Mutex(Values(kind: kind, currentRequest: request))
    }

    /// Goes on for a job that an earlier process has submitted; nil for one that has no request any more.
    init?(_ job: Job, _ identifier: Int, in session: RemoteURLSession) {
        guard let request = job.request else { return nil }
        (taskIdentifier, originalRequest, self.session, isAdopted) = (identifier, request, session, true)
        (commands, command) = AsyncStream.makeStream()
        var values = Values(kind: job.kind ?? .data, currentRequest: request)
        (values.phase, values.hasStarted, values.isHeld) = (.running, true, job.state == .suspended)
        (values.description, values.response) = (job.labels[TaskLabels.description], job.response)
        (values.progress, values.jobID) = (job.progress, job.id)
        self.values = Mutex(values)
    }

    // MARK: Looking

    /// The kind of the task; a data task whose response was answered with `becomeDownload` is a download.
    public var kind: Job.Kind { values.withLock { $0.kind } }
    /// Where it is in its life.
    public var state: SessionTask.State {
        values.withLock { $0.phase == .running && $0.isHeld ? .suspended : $0.phase }
    }
    /// The request at hand, after redirects.
    public var currentRequest: Request { values.withLock { $0.currentRequest } }
    /// The response, once it is known.
    public var response: Response? { values.withLock { $0.response } }
    /// Why it failed.
    public var error: LoadError? { values.withLock { $0.error } }
    /// The job that it is, once the service has it.
    public var jobID: String? { values.withLock { $0.jobID } }
    /// How many bytes of the request's body the service has sent.
    public var countOfBytesSent: Int64 { values.withLock { $0.progress?.bytesSent ?? 0 } }
    /// The length of the request's body, where it is known.
    public var countOfBytesExpectedToSend: Int64? { values.withLock { $0.progress?.bytesExpectedToSend } }
    /// How many bytes of the response's body the service has received.
    public var countOfBytesReceived: Int64 { values.withLock { $0.progress?.bytesReceived ?? 0 } }
    /// The length of the response's body, where it is known.
    public var countOfBytesExpectedToReceive: Int64? {
        values.withLock { $0.progress?.bytesExpectedToReceive ?? $0.response?.expectedContentLength }
    }

    /// The program's words about it, which are kept with the job; 256 characters at most.
    public var taskDescription: String? {
        get { values.withLock { $0.description } }
        set {
            let hasStarted = values.withLock { values in
                values.description = newValue
                return values.hasStarted
            }
            if hasStarted { command.yield(.describe) }
        }
    }

    /// Of two jobs that wait, the one with more goes first, from 0 to 1; no change after the first ``resume()`` counts.
    public var priority: Float {
        get { values.withLock { $0.priority } }
        set { values.withLock { $0.priority = newValue } }
    }

    // MARK: Driving

    /// Starts it, or lets it go on.
    public func resume() {
        let isFirst = values.withLock { values -> Bool? in
            guard values.phase == .suspended || values.phase == .running && values.isHeld else { return nil }
            let isFirst = !values.hasStarted
            (values.phase, values.hasStarted, values.isHeld) = (.running, true, false)
            return isFirst
        }
        if isFirst == true { session.run(self) } else if isFirst == false { command.yield(.resume) }
    }

    /// Holds it until it is resumed.
    public func suspend() {
        let isNew = values.withLock { values in
            guard values.phase == .running, !values.isHeld else { return false }
            values.isHeld = true
            return true
        }
        if isNew { command.yield(.suspend) }
    }

    /// Stops it; its delegate is told that it was cancelled.
    public func cancel() {
        let hadStarted = values.withLock { values -> Bool? in
            guard values.phase == .suspended || values.phase == .running else { return nil }
            defer { (values.phase, values.hasStarted) = (.canceling, true) }
            return values.hasStarted
        }
        if hadStarted == false { session.run(self) } else if hadStarted == true { command.yield(.cancel) }
    }

    // MARK: What happens to it

    /// Notes the job that it has become.
    func began(as job: String) { values.withLock { $0.jobID = job } }

    func redirected(to request: Request) { values.withLock { $0.currentRequest = request } }

    func received(_ response: Response) { values.withLock { $0.response = response } }

    func became(_ kind: Job.Kind) { values.withLock { $0.kind = kind } }

    /// Notes how far it is, and returns how far it was.
    func reached(_ progress: Job.Progress) -> Job.Progress? {
        values.withLock { values in
            defer { values.progress = progress }
            return values.progress
        }
    }

    /// Ends it; returns the error, which is that of a cancelled task when it was cancelled.
    func completed(_ error: LoadError?) -> LoadError? {
        command.finish()
        return values.withLock { values in
            values.error =
                values.phase == .canceling ? LoadError(.cancelled, "The task was cancelled.") : error
            values.phase = .completed
            return values.error
        }
    }
}
