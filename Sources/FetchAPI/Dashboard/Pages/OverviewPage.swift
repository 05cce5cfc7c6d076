import FetchJobs

/// The tenant's jobs at a glance.
struct OverviewPage {
    struct Count {
        let state: String
        let number: Int64
        let href: String
    }

    let frame: PageFrame
    let counts: [Count]
    /// How long the oldest queued job has waited.
    let oldestQueued: String?
    let failures: [JobRow]
    let hasFailures: Bool

    init(_ overview: Overview, frame: PageFrame, now: Timestamp) {
        self.frame = frame
        counts = JobState.allCases.map { state in
            Count(
                state: state.rawValue,
                number: overview.counts[state] ?? 0,
                href: "/dashboard/jobs?state=\(state.rawValue)"
            )
        }
        oldestQueued = overview.oldestQueuedAt.map { Age.text(since: $0, now: now) }
        failures = overview.failures.map { JobRow($0, now: now) }
        hasFailures = !failures.isEmpty
    }
}
