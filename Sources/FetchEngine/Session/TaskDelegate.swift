public import HTTPTypes

/// Decides about one task, and is notified of its events.
///
/// Every method has a default; a task waits for each answer.
///
/// Calls of one task come one at a time and in order: delayed start, body stream, progress of sending, challenges,
/// redirects, response, data, cache decision, metrics, completion. Cancelling a task does not wait for an answer that
/// is still out. The task's delegate is asked first; where it answers `performDefaultHandling`, the session's is.
/// Notifications go to the task's delegate, or to the session's where the task has none.
///
/// Data is reported for a task that runs by itself (``SessionTask/resume()``); a caller that awaits a task reads its
/// body.
///
/// ```swift
/// struct Printer: TaskDelegate {
///     func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async { print(metrics.taskInterval) }
///     func task(_ task: SessionTask, didCompleteWith error: LoadError?) async { print(error?.message ?? "complete") }
/// }
/// session.dataTask(with: url, delegate: Printer()).resume()
/// ```
public protocol TaskDelegate: Sendable {
    /// A server redirects, or (with no response) the request was put into its standard form.
    nonisolated(nonsending) func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition

    /// Whether the delegate wants to be asked about a protection space.
    ///
    /// By default about every kind but client certificates and server trust, as of a connection of the URL Loading
    /// System; a ``SessionDelegate`` wants those, too. Where a delegate returns false, credentials of the URL and the
    /// store are tried, and no delegate is asked; about a client certificate or server trust the other delegate still
    /// may be.
    nonisolated(nonsending) func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool

    /// A server or proxy asks for authentication, or the session's delegate passed on a question of its level.
    nonisolated(nonsending) func task(_ task: SessionTask, didReceive challenge: Challenge) async
        -> Challenge.Disposition

    /// The final head has come.
    ///
    /// Called before any data.
    nonisolated(nonsending) func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition

    /// An answer may be kept; `nil` keeps nothing.
    nonisolated(nonsending) func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse?

    /// The body has to be sent, again or for the first time, and the request has no stream for it.
    nonisolated(nonsending) func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe?

    /// A task with a begin date is about to start.
    nonisolated(nonsending) func task(_ task: SessionTask, willBeginDelayedRequest request: Request) async
        -> DelayedRequestDisposition

    /// An informational answer (1xx) came.
    nonisolated(nonsending) func task(
        _ task: SessionTask, didReceiveInformationalResponse status: HTTPResponse.Status, headerFields: HTTPFields)
        async

    /// Bytes of the body have been sent.
    nonisolated(nonsending) func task(
        _ task: SessionTask, didSendBodyData sent: Int64, totalSent: Int64, totalExpected: Int64?) async

    /// Bytes of the body have come.
    nonisolated(nonsending) func task(_ task: SessionTask, didReceive data: [UInt8]) async

    /// The task waits for a network.
    nonisolated(nonsending) func taskIsWaitingForConnectivity(_ task: SessionTask) async

    /// The task goes on as a download, in the same transfer, and sends no more notifications.
    nonisolated(nonsending) func task(_ task: SessionTask, didBecome download: DownloadTask) async

    /// The task is over and this is how it went.
    ///
    /// Comes right before the completion.
    nonisolated(nonsending) func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async

    /// The last call of every task: without an error when the load is complete.
    nonisolated(nonsending) func task(_ task: SessionTask, didCompleteWith error: LoadError?) async
}

extension TaskDelegate {
    /// Follows the configuration.
    public nonisolated(nonsending) func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition { .performDefaultHandling }

    /// Wants to be asked, but not about client certificates and server trust.
    public nonisolated(nonsending) func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async
        -> Bool
    { !space.method.isOfConnection }

    /// Continues as without a delegate.
    public nonisolated(nonsending) func task(_ task: SessionTask, didReceive challenge: Challenge) async
        -> Challenge.Disposition
    {
        .performDefaultHandling
    }

    /// Goes on.
    public nonisolated(nonsending) func task(_ task: SessionTask, didReceive response: Response) async
        -> ResponseDisposition
    { .allow }

    /// Keeps it as proposed.
    public nonisolated(nonsending) func task(_ task: SessionTask, willCache response: CachedResponse) async
        -> CachedResponse?
    { response }

    /// Has none.
    public nonisolated(nonsending) func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe? { nil }

    /// Loads it as it is.
    public nonisolated(nonsending) func task(
        _ task: SessionTask, willBeginDelayedRequest request: Request
    ) async -> DelayedRequestDisposition { .continueLoading }

    /// Ignores it.
    public nonisolated(nonsending) func task(
        _ task: SessionTask, didReceiveInformationalResponse status: HTTPResponse.Status, headerFields: HTTPFields
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(
        _ task: SessionTask, didSendBodyData sent: Int64, totalSent: Int64, totalExpected: Int64?
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: SessionTask, didReceive data: [UInt8]) async {}

    /// Ignores it.
    public nonisolated(nonsending) func taskIsWaitingForConnectivity(_ task: SessionTask) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: SessionTask, didBecome download: DownloadTask) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {}
}
