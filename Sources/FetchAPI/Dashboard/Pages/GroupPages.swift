import FetchJobs

/// The groups of jobs.
enum GroupPages {
    static let path = "/dashboard/groups"
    static let close = "\(path)/{id}/close"
    static let hint =
        "Jobs that belong together. A group that is closed takes no more jobs, and is finished when its last job is final."

    static func table(
        _ groups: [(group: JobGroup, counts: [JobState: Int64])], view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        SheetPage.Table(
            "Groups", ["Group", "State", "Jobs", "Labels", "Created", "Finished", "Change"],
            groups.map { group, counts in row(group, counts, view, now) },
            empty: "There are no groups. POST /v1/groups makes one; jobs name it as their group.", next: next)
    }

    private static func row(
        _ group: JobGroup, _ counts: [JobState: Int64], _ view: DashboardView, _ now: Timestamp
    ) -> [SheetPage.Cell] {
        let jobs = view.jobs(("group", "\(group.id)"))
        let states = JobState.allCases.compactMap { state in
            counts[state].map { "\(Figure.text($0)) \(state.rawValue)" }
        }
        var forms: [SheetPage.Form] = []
        if view.may(close), group.state == .open {
            forms = [
                SheetPage.Form(
                    action: "\(path)/\(group.id)/close", button: "Close", about: "\(group.id)")
            ]
        }
        return [
            .init(.code("\(group.id)", to: jobs)),
            .init(.state(group.state.rawValue, group.state == .finished ? "succeeded" : "running")),
            .init(.number(Figure.text(counts.values.reduce(0, +)), to: jobs), .hint(states.joined(separator: ", "))),
            .init(.text(group.spec.labels.map(\.text).joined(separator: ", "))),
            .init(.time(group.createdAt, now: now)), .init(.time(group.finishedAt, now: now)), .init(forms: forms),
        ]
    }
}
