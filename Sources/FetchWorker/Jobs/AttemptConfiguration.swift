import FetchEngine
import FetchJobs
import HTTPTypes

/// The configuration of one attempt: that of its session, until the job sets something itself.
///
/// A class whose functions are not inlined, so that frames of asynchronous functions have a reference and not a copy: a
/// load may be held for minutes.
final class AttemptConfiguration {
    private let session: Session
    /// Nil while the session's is enough, which costs nothing.
    private(set) var own: SessionConfiguration?

    /// - Parameters:
    ///   - job: Its configuration and its deadline are put over those of its session.
    ///   - targets: The policy of the moment, by which the whole attempt is judged; nil for that of the session.
    @inline(never)
    init(of job: ClaimedJob, in session: Session, targets: TargetPolicy? = nil) {
        self.session = session
        let configuration = job.spec.configuration
        if !configuration.isEmpty { own = session.configuration.overridden(by: configuration) }
        if let targets, targetPolicy != targets { change { $0.targetPolicy = targets } }
        if let deadline = job.expiresAt { change { $0.end(by: deadline) } }
        // A coded body could not be continued in the middle.
        if job.spec.kind == .download { change { $0.offersContentCodings = false } }
        // The URL of a cached response is stored in clear.
        if job.spec.request.urlForm == .withoutQuery { change { $0.urlCache = nil } }
    }

    // Each by itself: a function that reads any of them would copy them all.
    var timeoutIntervalForResource: Duration? {
        if let own { own.timeoutIntervalForResource } else { session.shared.value.timeoutIntervalForResource }
    }
    var proxies: ProxyConfiguration { if let own { own.proxies } else { session.shared.value.proxies } }
    var credentialStorage: (any CredentialStorage)? {
        if let own { own.credentialStorage } else { session.shared.value.credentialStorage }
    }
    var redirects: RedirectConfiguration { if let own { own.redirects } else { session.shared.value.redirects } }
    var additionalHeaders: HTTPFields {
        if let own { own.httpAdditionalHeaders } else { session.shared.value.httpAdditionalHeaders }
    }
    private var targetPolicy: TargetPolicy {
        if let own { own.targetPolicy } else { session.shared.value.targetPolicy }
    }

    /// Why a request cannot take the place of another one; nil when it can.
    func refusal(of request: Request, inPlaceOf url: URLRecord) -> LoadError? {
        (own ?? session.configuration).refusal(of: request, inPlaceOfRedirectFrom: url)
    }

    @inline(never)
    func change(_ change: (inout SessionConfiguration) -> Void) {
        var changed = own ?? session.configuration
        change(&changed)
        own = changed
    }
}

extension SessionConfiguration {
    /// Its tasks are given up at some time, which replaces their own deadline.
    fileprivate mutating func end(by deadline: Timestamp) {
        let rest = Duration.microseconds(max(1000, deadline.microseconds - Timestamp.now.microseconds))
        timeoutIntervalForResource = min(timeoutIntervalForResource ?? rest, rest)
    }
}
