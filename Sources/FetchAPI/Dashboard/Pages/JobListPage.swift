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

    init(_ jobs: [JobSummary], _ filter: JobFilter, next: JobCursor?, frame: PageFrame, now: Timestamp) {
        self.frame = frame
        filters =
            [Filter(title: "all", href: "/dashboard/jobs", isCurrent: filter == JobFilter())]
            + JobState.allCases.map {
                Filter(title: $0.rawValue, href: "/dashboard/jobs?state=\($0.rawValue)", isCurrent: $0 == filter.state)
            }
            + [4, 5].map { StatusFilter(class: $0) }.map {
                Filter(title: "answered \($0)", href: "/dashboard/jobs?status=\($0)", isCurrent: $0 == filter.status)
            }
        self.jobs = jobs.map { JobRow($0, now: now) }
        isEmpty = jobs.isEmpty
        let chosen = [filter.state.map { "state=\($0.rawValue)&" }, filter.status.map { "status=\($0)&" }]
        self.next = next.map { "/dashboard/jobs?\(chosen.compactMap(\.self).joined())cursor=\($0.text)" }
    }
}
