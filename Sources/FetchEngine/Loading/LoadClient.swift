import HTTPTypes

/// The task that a load belongs to, as the load sees it: it answers for the delegates and is notified in their place.
///
/// The questions are the delegates' own code and may take their time; a load puts them with ``Load/answer(on:to:)``,
/// which gives up when the load is cancelled.
protocol LoadClient: AnyObject, Sendable {
    var identifier: UInt64 { get }
    /// When the task may begin; nil for at once.
    var earliestBegin: ContinuousClock.Instant? { get }
    var kind: LoadKind { get }
    /// Whether a delegate is notified.
    var notifiesDelegate: Bool { get }
    /// Whether any delegate, the task's or the session's, may be asked.
    var asksDelegates: Bool { get }
    /// Whether the delegate decides about the response, and is notified of the end.
    var offersResponses: Bool { get }
    /// Whether the session is notified of every task before it begins.
    var announcesTasks: Bool { get }
    /// Whether the task has something to do between the body's end and its own.
    var endsItself: Bool { get }

    /// Throws when the session has no tasks of this kind.
    func checkKind() throws(LoadError)

    /// The response of a download that is complete on disk already; nil for any other.
    nonisolated(nonsending) func completeOnDisk() async -> Response?

    /// The request to make after a response that would be the final one; nil when it is.
    func request(after response: Response) -> Request?

    /// The error to end with.
    func finalError(_ error: LoadError) -> LoadError

    /// A delegate wants the body in a file.
    func becomesDownload()

    /// Loads a request in the background and stores its response.
    func refresh(_ request: Request, then completion: @escaping @Sendable () -> Void)

    /// The task is over and has no delegate.
    func leaveSession()

    // MARK: Questions

    nonisolated(nonsending) func redirect(_ response: Response?, to request: Request) async -> RedirectDisposition

    nonisolated(nonsending) func disposition(of challenge: Challenge) async -> Challenge.Disposition

    nonisolated(nonsending) func disposition(of response: Response) async -> ResponseDisposition

    nonisolated(nonsending) func disposition(ofDelayed request: Request) async -> DelayedRequestDisposition

    nonisolated(nonsending) func newBodyStream() async -> BodyPipe?

    /// The response to store in place of the proposed one; nil for none.
    nonisolated(nonsending) func responseToCache(_ proposed: CachedResponse) async -> CachedResponse?

    // MARK: Notifications

    nonisolated(nonsending) func created() async

    nonisolated(nonsending) func waitsForConnectivity() async

    nonisolated(nonsending) func received(informational status: HTTPResponse.Status, _ fields: HTTPFields) async

    nonisolated(nonsending) func sentBodyBytes(_ count: Int64, of total: Int64) async

    /// The last notification: metrics, then completion.
    nonisolated(nonsending) func finished(_ error: LoadError?) async
}

/// The destination of a load's body.
enum LoadKind {
    /// It is delivered, and its response may be stored.
    case data
    /// As `data`, for a request with a body that the server may keep when the upload breaks off.
    case upload
    /// It goes to a file, and its response is never stored.
    case download
}
