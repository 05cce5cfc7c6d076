import FetchJobs

/// A page of a list of jobs.
struct JobListPage {
    struct Filter {
        let title: String
        let href: String
        let isCurrent: Bool
    }

    let frame: PageFrame
    let filters: [Filter]
    let jobs: [JobRow]
    let isEmpty: Bool
    let next: String?

    init(_ jobs: [JobSummary], state: JobState?, next: JobCursor?, frame: PageFrame, now: Timestamp) {
        self.frame = frame
        filters =
            [Filter(title: "all", href: "/dashboard/jobs", isCurrent: state == nil)]
            + JobState.allCases.map {
                Filter(title: $0.rawValue, href: "/dashboard/jobs?state=\($0.rawValue)", isCurrent: $0 == state)
            }
        self.jobs = jobs.map { JobRow($0, now: now) }
        isEmpty = jobs.isEmpty
        let filter = state.map { "state=\($0.rawValue)&" } ?? ""
        self.next = next.map { "/dashboard/jobs?\(filter)cursor=\($0.text)" }
    }
}
