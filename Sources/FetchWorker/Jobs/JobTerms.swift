import FetchEngine
import FetchJobs
import HTTPTypes

/// The terms of one job: its session, its configuration over that of its session, and its retries.
final class JobTerms: Sendable {
    let session: EngineSession
    let settings: FetchJobs.Configuration
    let retry: RetryPolicy
    /// How many connections to its host the job may be one of.
    let maximumConnections: Int
    /// The answers that it has beforehand.
    let rules: RuleBook
    /// Whether its request may be sent again when its outcome is unknown.
    let mayRepeat: Bool

    /// Whether a request with some method may be sent again when its outcome is unknown.
    func mayRepeat(_ method: HTTPRequest.Method) -> Bool { retry.replayUnsafe || JobRequest.isIdempotent(method) }

    /// - Parameter service: The rules of the service.
    init(
        of job: ClaimedJob, in session: EngineSession, settings: FetchJobs.Configuration, _ service: ServiceRules
    ) {
        self.session = session
        self.settings = settings
        var retry = RetryPolicy(settings.retry)
        retry.repeatsTimeouts = session.kind == .background && settings.retry.maximumAttempts == nil
        self.retry = retry
        maximumConnections =
            job.spec.configuration.connections.maximumPerHost
            ?? session.engine.shared.value.httpMaximumConnectionsPerHost
        let own = job.spec.configuration.rules
        rules =
            own.isEmpty && service.rules.isEmpty
            ? session.rules
            : RuleBook(
                job: own, session: session.configuration.rules, service: service.matches(in: session.kind))
        // What a rule makes of it may be sent in its place.
        mayRepeat =
            retry.mayRepeat(job.spec.request)
            && (retry.replayUnsafe || rules.methods.allSatisfy { JobRequest.isIdempotent($0) })
    }
}
