import FetchEngine
import FetchJobs
import HTTPTypes

/// The configuration of one attempt: that of its session, until the job sets something itself.
///
/// A class whose functions are not inlined, so that frames of asynchronous functions have a reference and not a copy: a
/// load may be held for minutes.
final class AttemptConfiguration {
    private let session: SharedConfiguration
    /// Nil while the session's is enough, which costs nothing.
    private(set) var own: SharedConfiguration?

    /// - Parameters:
    ///   - job: Its configuration and its deadline are put over those of its session.
    ///   - targets: The policy of the moment, by which the whole attempt is judged; nil for that of the session.
    @inline(never)
    init(of job: ClaimedJob, in session: Session, targets: TargetPolicy? = nil) {
        self.session = session.shared
        // One object for all that is changed here.
        var own: SessionConfiguration?
        func change(_ change: (inout SessionConfiguration) -> Void) {
            var changed = own ?? session.configuration
            change(&changed)
            own = changed
        }
        let configuration = job.spec.configuration
        if !configuration.isEmpty { own = session.configuration.overridden(by: configuration) }
        if let targets, (own?.targetPolicy ?? session.shared.value.targetPolicy) != targets {
            change { $0.targetPolicy = targets }
        }
        if let deadline = job.expiresAt { change { $0.end(by: deadline) } }
        // A coded body could not be continued in the middle.
        if job.spec.kind == .download { change { $0.offersContentCodings = false } }
        // The URL of a cached response is stored in clear.
        if job.spec.request.urlForm == .withoutQuery { change { $0.urlCache = nil } }
        self.own = own.map { SharedConfiguration($0, from: session.shared) }
    }

    private var shared: SharedConfiguration { own ?? session }
    var timeoutIntervalForResource: Duration? { shared.value.timeoutIntervalForResource }
    var timeoutIntervalForRequest: Duration { shared.value.timeoutIntervalForRequest }
    var proxies: ProxyConfiguration { shared.value.proxies }
    var credentialStorage: (any CredentialStorage)? { shared.value.credentialStorage }
    var redirects: RedirectConfiguration { shared.value.redirects }
    var additionalHeaders: HTTPFields { shared.value.httpAdditionalHeaders }

    /// Why a request cannot take the place of another one; nil when it can.
    func refusal(of request: Request, inPlaceOf url: URLRecord) -> LoadError? {
        shared.value.refusal(of: request, inPlaceOfRedirectFrom: url)
    }

    /// Its load is given up at some time, although it begins late.
    func end(by deadline: Timestamp) { change { $0.end(by: deadline) } }

    @inline(never)
    func change(_ change: (inout SessionConfiguration) -> Void) {
        var changed = shared.value
        change(&changed)
        own = SharedConfiguration(changed, from: shared)
    }
}

extension SessionConfiguration {
    /// Its tasks are given up at some time, which replaces their own deadline.
    fileprivate mutating func end(by deadline: Timestamp) {
        let rest = Duration.microseconds(max(1000, deadline.microseconds - Timestamp.now.microseconds))
        timeoutIntervalForResource = min(timeoutIntervalForResource ?? rest, rest)
        countsTimeWhileSuspended = true
    }
}
