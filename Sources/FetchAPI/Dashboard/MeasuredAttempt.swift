import FetchJobs

/// An attempt with its metrics, which are read once for all parts of a page.
struct MeasuredAttempt {
    let attempt: Job.Attempt
    /// The metrics of its transfers; nil when there are none that can be read.
    let metrics: JSONValue?
    let waterfall: Waterfall

    var transfers: [JSONValue] { metrics?.elements ?? [] }

    init(_ attempt: Job.Attempt) {
        self.attempt = attempt
        metrics = JobDetailPage.parse(attempt.metrics)
        waterfall = Waterfall(metrics: metrics)
    }

    /// The last attempts of a job.
    static func last(_ count: Int, of job: Job) -> [Self] { job.attempts.suffix(count).map(Self.init) }
}
