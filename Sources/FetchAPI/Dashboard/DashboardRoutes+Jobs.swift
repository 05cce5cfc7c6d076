import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

// The list of jobs: its filter, what is done with many jobs at once, and its export.

extension DashboardRoutes {
    static let jobsPath = "/dashboard/jobs"
    static let actionsPath = "\(jobsPath)/actions"
    static let exportPath = "\(jobsPath)/export"

    var jobListRoutes: [Route] {
        [
            page(.get, Self.jobsPath, list),
            page(.get, Self.actionsPath, preview),
            page(.post, Self.actionsPath, act),
            page(.get, Self.exportPath, export),
        ]
    }

    // MARK: List

    private func list(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let names = JobFilter.parameters.union(["q", "cursor", "newer", "done", "changed", "matched"])
        let query = try call.query(allowing: names.union([Self.tenantParameter])).withoutEmpty
        let view = try await view(query, call, session)
        let search: JobSearch
        do {
            search = try JobSearch(query["q"] ?? "", in: try JobFilter(query))
        } catch let fault as JobSearch.Fault {
            let content = JobListPage(query["q"] ?? "", fault, visit(of: view, "Jobs", call))
            return page(.jobs, content, status: .badRequest)
        }
        if let job = search.job { return Self.redirect(to: view.job(job)) }
        let part = try await part(of: search.filter, at: query, view.tenant)
        let text = JobSearch.text(search.filter)
        var visit = visit(of: view, text.isEmpty ? "Jobs" : "Jobs: \(text)", call)
        visit.mayAct = view.may(Self.actionsPath)
        visit.maySubmit = view.isOwn && view.mayOpen(Self.newJobPath)
        visit.notice = try Self.notice(view) ?? Self.notice(query)
        return page(.jobs, JobListPage(part, search.filter, visit))
    }

    private func visit(of view: DashboardView, _ title: String, _ call: Call) -> JobListPage.Visit {
        JobListPage.Visit(
            view: view, fields: search(call, view, [])?.fields ?? [], frame: frame(title, call, view.session), now: .now
        )
    }

    /// The part of a list that a query names, with whether there is more on either side.
    private func part(of filter: JobFilter, at query: Query, _ tenant: Tenant.ID) async throws -> JobListPage.Part {
        let older = try query["cursor"].map { try JobCursor($0, filter: filter).after }
        let newer = try query["newer"].map { try JobCursor($0, filter: filter).after }
        let place: JobPage.Place = newer.map { .before($0) } ?? older.map { .after($0) } ?? .start
        let list = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize, at: place))
        func cursor(_ job: Job.ID?) -> JobCursor? { job.map { JobCursor(after: $0, filter: filter) } }
        var progress: [Job.ID: JobProgress] = [:]
        for job in list where !job.state.isFinal { progress[job.id] = ports.live.job(job.id, of: tenant)?.progress }
        return JobListPage.Part(
            jobs: list.jobs, progress: progress,
            count: try await jobs.count(of: tenant, matching: filter, limit: JobListPage.maximumCount),
            // A page without a job is passed where it began.
            newer: cursor(place.isBackward ? list.rest : older.map { list.first?.id ?? $0 }),
            older: cursor(place.isBackward ? list.last?.id ?? newer : list.rest))
    }

    /// What the action did that led to the list.
    private static func notice(_ query: Query) throws -> String? {
        guard let action = try query.oneOf("done", JobActionRoutes.Action.self) else { return nil }
        let most = JobActionRoutes.maximumJobs
        let changed = try query.integer("changed", in: 0...most, default: 0)
        let matched = try query.integer("matched", in: 0...most, default: 0)
        let rest =
            matched == most ? " That is as many as one request deals with: repeat it for those that are left." : ""
        return "\(action.title): \(changed) of \(matched) jobs changed.\(rest)"
    }

    // MARK: Actions

    /// The jobs that are meant, and what is to be done with them.
    private struct Order {
        let action: JobActionRoutes.Action
        /// The text of the filter.
        let search: String
        let filter: JobFilter
        /// Nil for all that match.
        let chosen: [Job.ID]?

        init(_ query: Query) throws {
            guard let action = try query.oneOf("action", JobActionRoutes.Action.self) else {
                throw Problem(parameter: "action", "is required")
            }
            self.action = action
            search = query["q"] ?? ""
            do { filter = try JobSearch(search).filter } catch { throw Problem(parameter: "q", error.message) }
            chosen = query["all"] == nil ? query.names.compactMap { Job.ID($0) } : nil
            if chosen?.isEmpty == true {
                throw Problem(.invalidParameter, "No job is chosen: choose some, or all that match.")
            }
        }
    }

    private func outcome(
        of order: Order, _ tenant: Tenant.ID, isDryRun: Bool
    ) async throws -> JobActionRoutes.Outcome {
        guard let chosen = order.chosen else {
            let pages = isDryRun ? JobActionRoutes.maximumPages : .max
            return try await actions.jobs.act(
                order.action, on: order.filter, of: tenant, maximumPages: pages, isDryRun: isDryRun)
        }
        var found: [(id: Job.ID, state: JobState)] = []
        for id in chosen { if let job = try await jobs.job(id, of: tenant) { found.append((id, job.state)) } }
        var outcome = JobActionRoutes.Outcome()
        try await actions.jobs.act(order.action, on: found, of: tenant, isDryRun: isDryRun, &outcome)
        return outcome
    }

    /// Says what would happen to how many jobs, and asks whether it shall.
    private func preview(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let order = try Order(try Query(call.request.uri.query ?? ""))
        let outcome = try await outcome(of: order, session.tenant, isDryRun: true)
        let content = BulkPage(
            order.action, search: order.search, chosen: order.chosen, outcome: outcome,
            frame: frame("\(order.action.title) jobs", call, session))
        return page(.bulk, content)
    }

    private func act(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let form = try await gate.form(of: call, in: session)
        let order = try Order(form)
        if order.action == .delete, form["confirm"]?.lowercased() != BulkPage.confirmation {
            throw Problem(.invalidParameter, "Nothing was deleted: “\(BulkPage.confirmation)” was not written.")
        }
        let outcome = try await outcome(of: order, session.tenant, isDryRun: false)
        return Self.redirect(
            to: JobSearch.path(
                order.filter, ("done", order.action.rawValue), ("changed", "\(outcome.changed)"),
                ("matched", "\(outcome.matched)")))
    }

    // MARK: Export

    private enum ExportForm: String, CaseIterable { case ndjson, csv }

    private func export(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "q", "form")
        let tenant = try await view(query, call, session).tenant
        let filter: JobFilter
        do { filter = try JobSearch(query["q"] ?? "").filter } catch { throw Problem(parameter: "q", error.message) }
        let form = try query.oneOf("form", ExportForm.self) ?? .ndjson
        let response =
            switch form {
            case .ndjson: try await actions.jobs.lines(of: filter, tenant, in: .job)
            case .csv: try await actions.jobs.table(of: filter, tenant)
            }
        var headers = Response.pageHeaders
        headers[.contentType] = response.headers[.contentType]
        headers[.contentDisposition] = "attachment; filename=\"jobs.\(form.rawValue)\""
        return Response(status: .ok, headers: headers, body: response.body)
    }
}
