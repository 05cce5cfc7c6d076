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
    /// Answers of origins that say no, in the last 24 hours.
    let answers: [Count]
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
        answers = [4, 5].map { number in
            let name = StatusFilter(class: number).description
            return Count(state: name, number: overview.answers[number] ?? 0, href: "/dashboard/jobs?status=\(name)")
        }
        oldestQueued = overview.oldestQueuedAt.map { Age.text(since: $0, now: now) }
        failures = overview.failures.map { JobRow($0, now: now) }
        hasFailures = !failures.isEmpty
    }
}
