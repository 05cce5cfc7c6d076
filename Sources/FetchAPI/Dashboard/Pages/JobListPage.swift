import FetchJobs

/// A page of a list of jobs.
struct JobListPage {
    struct View {
        let title: String
        let href: String
        let isCurrent: Bool
    }

    /// How many jobs of a filter are counted: a list of more has no end that anybody would look at.
    static let maximumCount = 10_000

    let frame: PageFrame
    /// What is written in the field of the filter.
    let search: String
    /// Why that is not understood.
    let fault: String?
    /// The field in which operators choose a tenant; none for everyone else.
    let fields: [SheetPage.Field]
    let words: [Fact]
    let completions: [String]
    let views: [View]
    let count: String
    let jobs: [JobRow]
    let isEmpty: Bool
    /// None of the jobs that were looked at matches, and there are more.
    let goesOn: Bool
    /// Whether values on the page may still change.
    let isLive: Bool
    let newer: String?
    let older: String?
    /// Whether the visitor may change jobs, and there are some.
    let mayAct: Bool
    /// Whether the visitor may submit jobs.
    let maySubmit: Bool
    let verbs: [Fact]
    let exports: [Fact]
    /// Whose jobs these are, where they are another tenant's, or what an action has done.
    let notice: String?

    /// Who looks at a list, and how.
    struct Visit {
        let view: DashboardView
        /// The field in which operators choose a tenant.
        var fields: [SheetPage.Field] = []
        /// Whether the visitor may change jobs.
        var mayAct = false
        /// Whether the visitor may submit jobs.
        var maySubmit = false
        var notice: String?
        let frame: PageFrame
        let now: Timestamp
    }

    /// A part of the list, as the store gave it.
    struct Part {
        let jobs: [JobSummary]
        let progress: [Job.ID: JobProgress]
        let count: JobCount
        let newer: JobCursor?
        let older: JobCursor?
    }

    init(_ part: Part, _ filter: JobFilter, _ visit: Visit) {
        self.init(search: JobSearch.text(filter), fault: nil, filter, part, visit)
    }

    /// The page for a filter that is not understood.
    init(_ search: String, _ fault: JobSearch.Fault, _ visit: Visit) {
        self.init(search: search, fault: fault.message, JobFilter(), nil, visit)
    }

    private init(search: String, fault: String?, _ filter: JobFilter, _ part: Part?, _ visit: Visit) {
        let view = visit.view
        frame = visit.frame
        self.search = search
        self.fault = fault
        notice = visit.notice
        fields = visit.fields
        words = JobSearch.words.map { Fact(name: "\($0.name):", value: $0.example) }
        completions = Self.completions(of: filter)
        views = Self.views(of: filter, isUnderstood: fault == nil, view)
        count = part.map { Self.count($0.count) } ?? ""
        jobs = part?.jobs.map { JobRow($0, progress: part?.progress[$0.id], view: view, now: visit.now) } ?? []
        isEmpty = jobs.isEmpty
        goesOn = part?.jobs.isEmpty == true && part?.older != nil
        isLive = part?.jobs.contains { !$0.state.isFinal } ?? false
        newer = part?.newer.map { JobSearch.path(filter, ("newer", $0.text), view.parameter) }
        older = part?.older.map { JobSearch.path(filter, ("cursor", $0.text), view.parameter) }
        mayAct = visit.mayAct && part?.jobs.isEmpty == false
        maySubmit = visit.maySubmit
        verbs = JobActionRoutes.Action.onPages.map { Fact(name: $0.rawValue, value: $0.title) }
        let query: [(name: String, value: String?)] = [("q", search.isEmpty ? nil : search), view.parameter]
        exports = ["ndjson", "csv"].map { form in
            Fact(
                name: form.uppercased(),
                value: DashboardView.address(DashboardRoutes.exportPath, [("form", form)] + query))
        }
    }

    private static func count(_ count: JobCount) -> String {
        if count.number >= maximumCount { return "10 000+ jobs" }
        guard count.isWhole else { return "\(count.number)+ jobs" }
        return count.number == 1 ? "1 job" : "\(count.number) jobs"
    }

    /// The filter with another state, or with another class of answers.
    private static func views(of filter: JobFilter, isUnderstood: Bool, _ shown: DashboardView) -> [View] {
        func view(_ title: String, _ change: (inout JobFilter) -> Void) -> View {
            var other = filter
            (other.state, other.status) = (nil, nil)
            change(&other)
            return View(
                title: title, href: JobSearch.path(other, shown.parameter), isCurrent: isUnderstood && other == filter)
        }
        return [view("all") { _ in }] + JobState.allCases.map { state in view(state.rawValue) { $0.state = state } }
            + [4, 5].map(StatusFilter.init(class:)).map { status in view("answered \(status)") { $0.status = status } }
    }

    /// Whole words, behind those that are there.
    private static func completions(of filter: JobFilter) -> [String] {
        let states = JobState.allCases.map { "state:\($0.rawValue)" }
        let kinds = JobSpec.Kind.allCases.map { "kind:\($0.rawValue)" }
        let statuses = (1...5).map { "status:\(StatusFilter(class: $0))" }
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].map { "method:\($0)" }
        let others = [
            "error:", "host:", "url:", "prefix:", "size:1000000..", "label:", "session:", "group:", "schedule:",
            "after:",
            "before:",
        ]
        let text = JobSearch.text(filter)
        return (states + kinds + statuses + methods + others).map { text.isEmpty ? $0 : "\(text) \($0)" }
    }
}

extension JobListPage: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "frame": frame
        case "search": search
        case "isFiltered": !search.isEmpty
        case "fault": Shown.of(fault)
        case "fields": fields
        case "words": words
        case "completions": completions
        case "views": views
        case "count": count
        case "jobs": jobs
        case "isEmpty": isEmpty
        case "goesOn": goesOn
        case "isLive": isLive
        case "newer": Shown.of(newer)
        case "older": Shown.of(older)
        case "mayAct": mayAct
        case "maySubmit": maySubmit
        case "verbs": verbs
        case "exports": exports
        case "notice": Shown.of(notice)
        default: nil
        }
    }
}

extension JobListPage.View: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "title": title
        case "href": href
        case "isCurrent": isCurrent
        default: nil
        }
    }
}

extension JobActionRoutes.Action {
    /// Those that the list has buttons for.
    static let onPages: [Self] = [.retry, .cancel, .delete]

    /// What its button says.
    var title: String {
        switch self {
        case .cancel: "Cancel"
        case .suspend: "Suspend"
        case .resume: "Resume"
        case .retry: "Retry"
        case .delete: "Delete"
        }
    }

    /// What it does to a job.
    var effect: String {
        switch self {
        case .cancel: "Jobs that wait end as cancelled at once, jobs that run are stopped. Those that have ended stay."
        case .suspend: "Jobs that have not ended are held where they are until they are resumed."
        case .resume: "Suspended jobs go on from where they were held."
        case .retry:
            "Failed and cancelled jobs run again under their ids. Their results are forgotten, their attempts are kept."
        case .delete:
            "Jobs that have ended are removed, with their results, bodies and attempts. This cannot be undone."
        }
    }
}
