public import FetchEngine
public import Foundation

/// Is notified of the tasks of a ``RemoteURLSession``.
///
/// Every method has a default. Calls of one task come one at a time and in order: creation, progress of sending,
/// challenges, redirects, response, data or file, metrics, completion; the next comes when the one before has returned.
/// Calls of several tasks may come at the same time. What a delegate decides about is said by the protocols that it
/// conforms to besides: ``RemoteURLSessionRedirectDelegate``, ``RemoteURLSessionChallengeDelegate`` and
/// ``RemoteURLSessionResponseDelegate``.
///
/// ```swift
/// struct Printer: RemoteURLSessionDelegate {
///     func urlSession(
///         _ session: RemoteURLSession, task: RemoteURLSessionTask, didCompleteWithError error: LoadError?
///     ) async { print(task.taskIdentifier, error?.message ?? "complete") }
/// }
/// ```
public protocol RemoteURLSessionDelegate: Sendable {
    /// A task of this session was resumed for the first time; not called of those that an earlier process has made.
    nonisolated(nonsending) func urlSession(_ session: RemoteURLSession, didCreateTask task: RemoteURLSessionTask) async

    /// An informational answer (1xx) came.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didReceiveInformationalResponse response: Response
    ) async

    /// The service has sent more of the request's body.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64?
    ) async

    /// Bytes of the body have come.
    ///
    /// The service has all of the body by then.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, dataTask: RemoteURLSessionTask, didReceive data: [UInt8]) async

    /// More bytes are in the service's file.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async

    /// The file is complete and here; it is deleted when this returns, unless it was moved.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didFinishDownloadingTo location: URL) async

    /// How the task went; comes right before the completion.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didFinishCollecting metrics: TaskMetrics) async

    /// The last call of every task: without an error when the load is complete.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didCompleteWithError error: LoadError?) async

    /// The last task of a background session is over, and the delegate was told all of it.
    nonisolated(nonsending) func urlSessionDidFinishEvents(forBackgroundURLSession session: RemoteURLSession) async

    /// The session was invalidated and its last task is over: the last call of all.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, didBecomeInvalidWithError error: LoadError?) async
}

extension RemoteURLSessionDelegate {
    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, didCreateTask task: RemoteURLSessionTask
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didReceiveInformationalResponse response: Response
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64, totalBytesExpectedToSend: Int64?
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, dataTask: RemoteURLSessionTask, didReceive data: [UInt8]
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didFinishDownloadingTo location: URL
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didFinishCollecting metrics: TaskMetrics
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didCompleteWithError error: LoadError?
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSessionDidFinishEvents(
        forBackgroundURLSession session: RemoteURLSession
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, didBecomeInvalidWithError error: LoadError?
    ) async {}
}

/// Decides about the redirects of tasks.
///
/// The loads of its sessions wait for its answers; those of others follow their configuration. Background sessions
/// follow all redirects and ask nobody.
public protocol RemoteURLSessionRedirectDelegate: RemoteURLSessionDelegate {
    /// A server redirects, or (with no response) the request was put into its standard form.
    ///
    /// - Returns: The request to make, the proposed one or another; nil takes the redirect response as the result.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, willPerformHTTPRedirection response: Response?,
        newRequest request: Request
    ) async -> Request?
}

/// Decides about the challenges of servers and proxies, and about certificates that are not trusted.
public protocol RemoteURLSessionChallengeDelegate: RemoteURLSessionDelegate {
    /// A server or proxy asks for authentication, or shows a chain of certificates that is not trusted.
    ///
    /// Credentials of a user with a password, and bearer tokens, can be given; a chain is accepted by
    /// `useCredential` with ``Credential/init(trust:)``.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didReceive challenge: Challenge
    ) async -> Challenge.Disposition
}

/// Decides about the responses of tasks.
public protocol RemoteURLSessionResponseDelegate: RemoteURLSessionDelegate {
    /// The final head has come.
    ///
    /// After `becomeDownload` the task goes on as a download itself.
    nonisolated(nonsending) func urlSession(
        _ session: RemoteURLSession, dataTask: RemoteURLSessionTask, didReceive response: Response
    ) async -> ResponseDisposition
}
