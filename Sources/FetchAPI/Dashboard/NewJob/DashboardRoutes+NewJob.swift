import FetchJobs
import HTTPTypes
import Hummingbird

// Writing a new job: as a form, as JSON, or from a curl command.

extension DashboardRoutes {
    static let newJobPath = "\(jobsPath)/new"
    /// A job in JSON, as forms write it: up to three bytes for one.
    private static let maximumNewJob = 1 << 20

    var newJobRoutes: [Route] {
        [
            page(.get, Self.newJobPath, newJob),
            page(.post, Self.newJobPath, writeJob),
        ]
    }

    /// The empty page, or one with the submission of another job.
    private func newJob(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try call.query(allowing: ["from", "view"])
        var content = NewJobPage.Content()
        content.view = try query.oneOf("view", NewJobPage.View.self) ?? .form
        if let from = query["from"] {
            guard let id = Job.ID(from), let job = try await jobs.job(id, of: session.tenant) else {
                throw JobRoutes.notFound
            }
            content.job = try JSONParser.parse(job.submission)
            content.notice =
                "As \(id) was submitted. Secrets are not shown: write them again where it says \(Redaction.text)."
        }
        return newJob(content, call, session)
    }

    private func newJob(
        _ content: NewJobPage.Content, _ call: Call, _ session: DashboardSession, status: HTTPResponse.Status = .ok
    ) -> Response {
        page(.newJob, NewJobPage(content, frame: frame("New job", call, session)), status: status)
    }

    private func writeJob(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let form = try await gate.form(of: call, in: session, upTo: Self.maximumNewJob)
        var content = NewJobPage.Content()
        content.view = try form.oneOf("view", NewJobPage.View.self) ?? .form
        content.command = form["command"] ?? ""
        if content.view == .json { content.text = form["json"] }
        do {
            content.job = try Self.job(of: form, in: content.view, &content.notes)
            if let next = form["do"].flatMap(NewJobPage.View.init) {
                content.view = next
            } else {
                let verb = try form.oneOf("do", NewJobPage.Verb.self) ?? .check
                if let id = try await perform(verb, &content, call, session) {
                    return Self.redirect(to: "\(Self.jobsPath)/\(id)")
                }
            }
            return newJob(content, call, session)
        } catch {
            let problem = Problem(error)
            guard problem.code != .internalError else { throw error }
            content.problem = problem
            return newJob(content, call, session, status: problem.code.status)
        }
    }

    /// The job that was written.
    private static func job(
        of form: Query, in view: NewJobPage.View, _ notes: inout [String]
    ) throws -> JSONValue {
        switch view {
        case .curl:
            do throws(CurlCommand.Fault) {
                let command = try CurlCommand(form["command"] ?? "")
                notes = command.notes
                return command.job
            } catch {
                throw Problem(.invalidInput, error.description)
            }
        case .json: return try JSONParser.parse((form["json"] ?? "").utf8)
        case .form: return try JobForm.job(of: form, on: try JSONParser.parse((form["json"] ?? "{}").utf8))
        }
    }

    /// - Returns: The job that is there now; nil when nothing was to be stored.
    private func perform(
        _ verb: NewJobPage.Verb, _ content: inout NewJobPage.Content, _ call: Call, _ session: DashboardSession
    ) async throws -> Job.ID? {
        let key = try await key(of: session)
        switch verb {
        case .submit:
            if let overload = ports.readiness.overload(for: session.tenant) { throw Problem(overload) }
            return try await actions.submissions.submit(content.job, of: session.tenant, by: key, in: call.trace)
        case .check:
            try await actions.submissions.check(content.job, of: session.tenant, by: key)
            content.notice = "The job is valid. Nothing was stored."
        case .explain:
            try await actions.submissions.check(content.job, of: session.tenant, by: key)
            content.explanation = try JSONParser.parse(
                try await actions.forecasts.explanation(of: content.job, of: session.tenant, by: key))
        }
        return nil
    }
}
