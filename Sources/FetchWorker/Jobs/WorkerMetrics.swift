import FetchJobs

/// What a worker counts.
struct WorkerMetrics: Sendable {
    private let finished: [JobState: Counter]
    private let duration: Histogram
    private let fenced: Counter
    private let retried: Counter
    let upkeep: UpkeepMetrics

    init(_ registry: MetricsRegistry) {
        let family = registry.counter(
            "fetchd_jobs_finished_total", "Jobs that reached a final state here.", labels: "state")
        finished = Dictionary(
            uniqueKeysWithValues: JobState.allCases.filter(\.isFinal).map { ($0, family[$0.rawValue]) })
        duration = registry.histogram("fetchd_job_duration_seconds", "From an attempt's start to its outcome.")[]
        retried = registry.counter("fetchd_attempts_retried_total", "Attempts that another one follows.")[]
        fenced = registry.counter("fetchd_attempts_fenced_total", "Attempts that had lost their claim.")[]
        upkeep = UpkeepMetrics(registry)
    }

    func countRetry() { retried.add() }

    func count(_ outcome: JobOutcome, isOurs: Bool) {
        guard isOurs else { return fenced.add() }
        finished[outcome.state]?.add()
        duration.observe(Double(outcome.finishedAt.microseconds - outcome.startedAt.microseconds) / 1_000_000)
    }
}
