import FetchJobs
import Hummingbird

// Schedules: their times to come, running, pausing and resuming them.

extension DashboardRoutes {
    var scheduleRoutes: [Route] {
        [
            page(.get, SchedulePages.path, schedules),
            page(.get, SchedulePages.one, schedule),
            page(.post, "\(SchedulePages.one)/run", runSchedule),
            page(.post, "\(SchedulePages.one)/pause") { try await setSchedule($0, $1, paused: true) },
            page(.post, "\(SchedulePages.one)/resume") { try await setSchedule($0, $1, paused: false) },
        ]
    }

    private func schedules(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let view = try await view(query, call, session)
        let after = try query["cursor"].map { try Cursor<Schedule.Kind>($0, filter: "").after }
        let now = Timestamp.now
        let part = try await ListPart.read(limit: Self.pageSize, after: after, id: \.id) {
            try await ports.schedules.schedules(of: view.tenant, after: $0, limit: $1)
        } form: {
            (SchedulePages.row($0, view: view, now: now), bytes: 0)
        }
        let next = part.next { view.href(SchedulePages.path, ("cursor", Cursor(after: $0.id, filter: "").text)) }
        var sheet = sheet("Schedules", call, view, hint: SchedulePages.hint)
        sheet.sections = [.init(table: SchedulePages.table(part.shown.map(\.form), next: next))]
        return page(.sheet, sheet)
    }

    private func schedule(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(try query(call), call, session)
        let schedule = try await actions.schedules.schedule(call, view.tenant)
        var sheet = sheet("Schedule \(schedule.id)", call, view)
        sheet.search = nil
        sheet.sections = SchedulePages.sections(schedule, view: view, now: .now)
        return page(.sheet, sheet)
    }

    private func runSchedule(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        let schedule = try await actions.schedules.schedule(call, session.tenant)
        if let overload = ports.readiness.overload(for: session.tenant) { throw Problem(overload) }
        let job = try await actions.schedules.start(schedule, nil, in: call.trace)
        return Self.redirect(to: "/dashboard/jobs/\(job.id)")
    }

    private func setSchedule(_ call: Call, _ session: DashboardSession, paused: Bool) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        while true {
            var schedule = try await actions.schedules.schedule(call, session.tenant)
            schedule.setPaused(paused, at: .now)
            // Nil when another request has changed it first; then it is read again.
            guard try await ports.schedules.update(schedule) != nil else { continue }
            return Self.redirect(to: "\(SchedulePages.path)/\(schedule.id)")
        }
    }
}
