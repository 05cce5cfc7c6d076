import FetchJobs
import FetchRuntime

/// The metrics of a worker.
struct WorkerMetrics: Sendable {
    private let ends: [JobState: (finished: Counter, attempts: Counter)]
    private let retried: Counter
    private let fenced: Counter
    private let answered: [Counter]
    /// By the names of errors, which are a closed set.
    private let errors: MetricFamily<Counter>
    private let duration: Histogram
    private let claims: (some: Counter, none: Counter, failed: Counter)
    private let claimed: Counter
    private let queueWait: Histogram
    private let signals: (wait: Counter, backOff: Counter, proceed: Counter)
    let upkeep: UpkeepMetrics

    init(_ registry: MetricsRegistry) {
        let (finished, attempts) = (registry.counter(.jobsFinished), registry.counter(.attempts))
        ends = Dictionary(
            uniqueKeysWithValues: JobState.allCases.filter(\.isFinal).map { state in
                (state, (finished[state.rawValue], attempts[state.rawValue]))
            })
        (retried, fenced) = (attempts["retried"], attempts["fenced"])
        let answers = registry.counter(.attemptsAnswered)
        answered = (1...5).map { answers[StatusFilter.name(ofClassOf: $0 * 100)] }
        duration = registry.histogram(.jobDuration)[]
        errors = registry.counter(.attemptErrors)
        let looks = registry.counter(.claims)
        claims = (looks["some"], looks["none"], looks["failed"])
        claimed = registry.counter(.claimedJobs)[]
        queueWait = registry.histogram(.queueWait)[]
        let circuits = registry.counter(.circuitSignals)
        signals = (circuits["wait"], circuits["backOff"], circuits["proceed"])
        upkeep = UpkeepMetrics(registry)
    }

    func countRetry(of outcome: JobOutcome) {
        retried.add()
        countEnd(of: outcome)
    }

    func count(_ claim: Claim) {
        (claim.jobs.isEmpty ? claims.none : claims.some).add()
        claimed.add(claim.jobs.count)
        for job in claim.jobs { if let waited = job.waited { queueWait.observe(waited) } }
    }

    func countFailedClaim() { claims.failed.add() }

    func count(_ outcome: JobOutcome, isOurs: Bool) {
        guard isOurs else { return fenced.add() }
        if let end = ends[outcome.state] {
            end.finished.add()
            end.attempts.add()
        }
        countEnd(of: outcome)
    }

    func count(_ signal: Limiter.Signal) {
        switch signal {
        case .open: signals.wait.add()
        case .backOff: signals.backOff.add()
        case .proceed: signals.proceed.add()
        }
    }

    /// An attempt has ended, whatever follows.
    private func countEnd(of outcome: JobOutcome) {
        if let status = outcome.status, (100...599).contains(status) { answered[status / 100 - 1].add() }
        if let name = outcome.errorName { errors[name].add() }
        duration.observe(Double(outcome.finishedAt.microseconds - outcome.startedAt.microseconds) / 1_000_000)
    }
}
