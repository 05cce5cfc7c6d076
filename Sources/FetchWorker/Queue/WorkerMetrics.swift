import FetchJobs
import FetchRuntime

/// The metrics of a worker.
struct WorkerMetrics: Sendable {
    private let finished: [JobState: Counter]
    private let answered: [Counter]
    private let duration: Histogram
    private let fenced: Counter
    private let retried: Counter
    let upkeep: UpkeepMetrics

    init(_ registry: MetricsRegistry) {
        let family = registry.counter(
            "fetchd_jobs_finished_total", "Jobs that reached a final state here.", labels: "state")
        finished = Dictionary(
            uniqueKeysWithValues: JobState.allCases.filter(\.isFinal).map { ($0, family[$0.rawValue]) })
        let answers = registry.counter(
            "fetchd_attempts_answered_total", "Attempts that ended with a response, by the class of its status.",
            labels: "status_class")
        answered = (1...5).map { answers[StatusFilter.name(ofClassOf: $0 * 100)] }
        duration = registry.histogram("fetchd_job_duration_seconds", "From an attempt's start to its outcome.")[]
        retried = registry.counter("fetchd_attempts_retried_total", "Attempts that another one follows.")[]
        fenced = registry.counter("fetchd_attempts_fenced_total", "Attempts that had lost their claim.")[]
        upkeep = UpkeepMetrics(registry)
    }

    func countRetry() { retried.add() }

    func count(_ outcome: JobOutcome, isOurs: Bool) {
        guard isOurs else { return fenced.add() }
        finished[outcome.state]?.add()
        if let status = outcome.status, (100...599).contains(status) { answered[status / 100 - 1].add() }
        duration.observe(Double(outcome.finishedAt.microseconds - outcome.startedAt.microseconds) / 1_000_000)
    }
}
