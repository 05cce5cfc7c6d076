import FetchEngine
import FetchJobs
import FetchRuntime

/// One load of a job, with everything that it needs.
final class PreparedLoad: Sendable {
    /// What was made of the job to load it.
    ///
    /// An object, so that the frames of loads have a reference.
    final class Parts: Sendable {
        let request: Request
        /// Where the load goes on, when it was parked.
        let position: Boxed<LoadPosition>?
        /// Answers challenges; nil when the job has no answers.
        let answerer: JobChallengeAnswerer?

        init(request: Request, position: LoadPosition?, answerer: JobChallengeAnswerer?) {
            self.request = request
            self.position = position.map { Boxed($0) }
            self.answerer = answerer
        }
    }

    let job: ClaimedJob
    private let parts: Parts
    /// Nil when the session's is enough.
    let configuration: SharedConfiguration?
    /// The decisions of the job while it runs; nil when nothing is asked.
    let decisions: JobDecisions?
    let live: LiveJob
    private let terms: JobTerms
    let bandwidths: any BandwidthSource
    /// When the job is given up: at its own deadline, or because its attempts together take too long (SES-9).
    let deadline: Timestamp?
    /// A number from 0 to 1, by which the wait for the next attempt varies.
    let random: @Sendable () -> Double

    init(
        job: ClaimedJob, _ parts: Parts, decisions: JobDecisions?, by terms: JobTerms,
        _ configuration: SharedConfiguration?, live: LiveJob, bandwidths: any BandwidthSource, deadline: Timestamp?,
        random: @escaping @Sendable () -> Double
    ) {
        self.job = job
        self.parts = parts
        self.decisions = decisions
        self.terms = terms
        self.configuration = configuration
        self.live = live
        self.bandwidths = bandwidths
        self.deadline = deadline
        self.random = random
    }

    var session: Session { terms.session.engine }
    var request: Request { parts.request }
    var answerer: JobChallengeAnswerer? { parts.answerer }
    /// The configuration of the job, for members that no setting of the engine stands for.
    var settings: FetchJobs.Configuration { terms.settings }
    var retry: RetryPolicy { terms.retry }

    /// Applies the job to a task: its name, its priority, its bandwidth, and the switch that stops or holds it.
    func prepare(_ task: SessionTask, _ stop: StopSwitch) {
        task.taskDescription = job.id.description
        if let decisions { task.adviser = decisions }
        if let position = parts.position?.value { task.position = position }
        if job.spec.priority != 0.5 { task.priority = Float(job.spec.priority) }
        task.bandwidths = { [bandwidths, job] in bandwidths.bandwidths(of: job) }
        stop.attach(task)
    }

    /// Whether what was sent may be sent again.
    private var mayRepeat: Bool { decisions?.mayRepeat ?? terms.mayRepeat }

    /// How long to wait before another attempt; nil when there is none.
    func wait(after failure: RetryPolicy.Failure) -> Duration? {
        guard mayRepeat || !failure.wasSent else { return nil }
        // Waiting does not bring a response into the cache (CCH-4).
        if failure.code == .resourceUnavailable, asksCacheAlone, retry.errors == nil { return nil }
        return retry.wait(after: failure, of: job, until: deadline, random: random())
    }

    /// Whether the file has another URL that no attempt has loaded yet.
    var hasUntriedURL: Bool { job.spec.request.hasUntriedURL(after: job.tries) }

    private var asksCacheAlone: Bool {
        let own = job.spec.request.cachePolicy ?? .useProtocolCachePolicy
        let policy =
            own == .useProtocolCachePolicy ? (configuration ?? session.shared).value.requestCachePolicy : own
        return policy == .returnCacheDataDontLoad
    }
}
