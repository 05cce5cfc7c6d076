import FetchJobs

/// The schedules, and one of them with its times to come.
enum SchedulePages {
    static let path = "/dashboard/schedules"
    static let one = "\(path)/{id}"
    static let hint =
        "Jobs that are made again and again. A schedule that is paused has no times; they are not made up for."
    /// How many coming times a list shows of each, and a page of one.
    static let times = (inList: 2, inPage: 20)

    static func table(_ rows: [[SheetPage.Cell]], next: String?) -> SheetPage.Table {
        SheetPage.Table(
            "Schedules", ["Schedule", "State", "Times", "Next", "Last", "Runs", "Request", "Change"],
            rows,
            empty: "There are no schedules. POST /v1/schedules makes one, by a cron expression or an interval.",
            next: next)
    }

    static func row(_ schedule: Schedule, view: DashboardView, now: Timestamp) -> [SheetPage.Cell] {
        [
            .init(
                .code("\(schedule.id)", to: view.href("\(path)/\(schedule.id)")),
                .hint(schedule.spec.labels.isEmpty ? nil : schedule.spec.labels.map(\.text).joined(separator: ", "))),
            .init(state(schedule), .hint(schedule.lastError?.message)),
            .init(.code(recurrence(schedule))),
            cell(coming(schedule, times.inList), now),
            .init(.time(schedule.lastRunAt, now: now), schedule.lastJob.map { .code("\($0)", to: view.job($0)) }),
            .init(.number(Figure.text(schedule.runs), to: view.jobs(("schedule", "\(schedule.id)")))),
            .init(.code(schedule.target)),
            .init(forms: forms(schedule, view)),
        ]
    }

    static func sections(_ schedule: Schedule, view: DashboardView, now: Timestamp) -> [SheetPage.Section] {
        var facts = [
            Fact(name: "Request", value: VisibleText.cut(schedule.target)),
            Fact(name: "Times", value: VisibleText.cut(recurrence(schedule))),
            Fact(name: "Missed times", value: schedule.spec.missedRuns.rawValue),
            Fact(name: "While the last job is not final", value: schedule.spec.overlap.rawValue),
            Fact(name: "Jobs made", value: Figure.text(schedule.runs)),
            Fact(name: "Created", value: schedule.createdAt.description),
        ]
        if let error = schedule.lastError {
            facts.append(Fact(name: "Last error, \(error.at)", value: VisibleText.cut(error.message)))
        }
        facts += schedule.spec.labels.map {
            Fact(name: VisibleText.cut("Label \($0.name)"), value: VisibleText.cut($0.value))
        }
        let times = coming(schedule, times.inPage).map {
            [SheetPage.Cell(.time($0, now: now)), SheetPage.Cell(.code($0.description))]
        }
        return [
            .init(facts: .init(facts: facts), forms: forms(schedule, view)),
            .init(
                heading: "Next times",
                table: .init(
                    "Next times", ["In", "Time (UTC)"], times,
                    empty: "No time is left, or it is paused: Resume gives it times again.")),
            .init(heading: "As it was submitted, without secrets", text: IndentedJSON.text(schedule.spec.write)),
        ]
    }

    private static func cell(_ times: [Timestamp], _ now: Timestamp) -> SheetPage.Cell {
        var cell = SheetPage.Cell()
        cell.lines = times.map { .time($0, now: now) }
        return cell
    }

    private static func forms(_ schedule: Schedule, _ view: DashboardView) -> [SheetPage.Form] {
        let isPaused = schedule.pausedAt != nil
        let run = schedule.spec.urlGroup == nil ? [("run", "Run now")] : []
        let actions = run + [isPaused ? ("resume", "Resume") : ("pause", "Pause")]
        return actions.filter { view.may("\(one)/\($0.0)") }.map { action, button in
            SheetPage.Form(action: "\(path)/\(schedule.id)/\(action)", button: button, about: "\(schedule.id)")
        }
    }

    private static func state(_ schedule: Schedule) -> SheetPage.Line {
        if schedule.pausedAt != nil { return .state(ScheduleState.paused.rawValue, "suspended") }
        return schedule.nextRunAt == nil
            ? .state(ScheduleState.ended.rawValue, "") : .state(ScheduleState.active.rawValue, "succeeded")
    }

    private static func recurrence(_ schedule: Schedule) -> String {
        switch schedule.spec.recurrence {
        case .cron(let expression, let zone):
            "\(expression) (\(zone.name))"
        case .interval(let seconds): "every \(seconds) s"
        }
    }

    private static func coming(_ schedule: Schedule, _ count: Int) -> [Timestamp] {
        guard let next = schedule.nextRunAt else { return [] }
        return [next] + schedule.times(after: next, maximum: count - 1)
    }
}

extension Schedule {
    /// What its jobs load, as a page shows it.
    fileprivate var target: String {
        let request = spec.job.request
        return spec.urlGroup.map { "\(request.method) each URL of the group \($0)" } ?? request.shown
    }
}
