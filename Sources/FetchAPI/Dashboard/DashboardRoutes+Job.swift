import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

// One job: its story, and what can be done with it.

extension DashboardRoutes {
    static let jobPath = "\(jobsPath)/{id}"
    /// What the page of a job has buttons for; removing it has a page that asks first.
    private static let verbs: [JobActionRoutes.Action] = [.retry, .cancel, .suspend, .resume]

    var jobRoutes: [Route] {
        [
            page(.get, Self.jobPath, job),
            page(.get, "\(Self.jobPath)/json", json),
            page(.get, "\(Self.jobPath)/har", archive),
            page(.get, "\(Self.jobPath)/body", body),
            page(.get, "\(Self.jobPath)/events", events),
        ] + Self.verbs.map { verb in page(.post, Self.path(of: verb)) { try await act(verb, $0, $1) } }
    }

    private static func path(of verb: JobActionRoutes.Action) -> String { "\(jobPath)/\(verb.rawValue)" }

    private func find(_ call: Call, of tenant: Tenant.ID) async throws -> Job {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant) else {
            throw JobRoutes.notFound
        }
        return job
    }

    /// The job as the visitor may see it.
    private func visibleJob(_ call: Call, to view: DashboardView) async throws -> Job {
        var job = try await find(call, of: view.tenant)
        job.showsCause = view.session.signIn.role.scopes.contains(.admin)
        return job
    }

    /// Whose job is looked at.
    private func view(_ call: Call, _ session: DashboardSession) async throws -> DashboardView {
        try await view(try query(call), call, session)
    }

    private func job(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(call, session)
        let job = try await visibleJob(call, to: view)
        if view.isOwn, let page = try await pageElsewhere(of: job, call, session) { return page }
        var content = JobDetailPage.Content(view: view, frame: frame("Job \(job.id)", call, session), now: .now)
        // What came is the tenant's alone.
        content.preview = view.isOwn ? try await preview(of: job, view.tenant) : nil
        content.deliveries = try await deliveries(of: job, view)
        content.progress = job.state.isFinal ? nil : ports.live.job(job.id, of: view.tenant)?.progress
        content.verbs = Self.verbs.filter { $0.changes(job.state) && view.may(Self.path(of: $0)) }
            .filter { $0 != .cancel || !job.isCancelling }
        content.canDelete = job.state.isFinal && view.may(Self.actionsPath)
        content.canSubmit = job.state.isFinal && view.isOwn && view.mayOpen(Self.newJobPath)
        let shown = content
        return await drawing.draw(for: session.tenant) { page(.job, JobDetailPage(job, shown)) }
    }

    /// The page as another node makes it that runs the job, and alone knows how far it is; nil when this one makes it,
    /// also since the other says nothing in a moment.
    private func pageElsewhere(
        of job: Job, _ call: Call, _ session: DashboardSession
    ) async throws -> Response? {
        guard job.isClaimed, ports.live.job(job.id, of: session.tenant) == nil else { return nil }
        let answer = try await actions.events.forwarding.promptAnswer(to: call, about: job.id, of: session.tenant) {
            $0[.cookie] = call.headers[.cookie]
        }
        guard var answer else { return nil }
        // The session is renewed here, by the name that the browser knows.
        answer.headers[.setCookie] = nil
        return answer
    }

    /// The last messages about the job; nil when there are none.
    private func deliveries(of job: Job, _ view: DashboardView) async throws -> SheetPage.Table? {
        var filter = DeliveryFilter()
        filter.job = job.id
        let items = try await ports.webhooks.deliveries(
            of: view.tenant, matching: filter, page: DeliveryPage(limit: JobDetailPage.maximumDeliveries + 1))
        guard !items.isEmpty else { return nil }
        let part = ListPart(items, limit: JobDetailPage.maximumDeliveries)
        let next = part.next { _ in view.href(WebhookPages.deliveries, ("job", "\(job.id)")) }
        return WebhookPages.table(
            part.shown, view: view, next: view.mayOpen(WebhookPages.deliveries) ? next : nil, now: .now)
    }

    // MARK: Actions

    private func act(
        _ verb: JobActionRoutes.Action, _ call: Call, _ session: DashboardSession
    ) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        let job = try await find(call, of: session.tenant)
        switch verb {
        case .cancel: _ = try await jobs.cancel(job.id, of: session.tenant, .plainly)
        case .suspend, .resume:
            guard !job.state.isFinal else { throw Problem(.jobFinal, "The job is \(job.state.rawValue).") }
            try await jobs.setSuspended([job.id], of: session.tenant, verb == .suspend)
        case .retry: _ = try await retrier.retry(job, of: session.tenant, with: try await key(of: session))
        case .delete: break
        }
        return Self.redirect(to: "\(Self.jobsPath)/\(job.id)")
    }

    /// The key that somebody has signed in with, which his jobs count for; nil when he has signed in otherwise.
    func key(of session: DashboardSession) async throws -> APIKey? {
        guard let id = session.signIn.key else { return nil }
        return try await keys.key(id, of: session.tenant)?.key
    }

    private func events(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try call.query()
        return try await actions.events.follow(call, session.tenant) { try await gate.require(session) }
    }

    // MARK: Files

    private func json(_ call: Call, _ session: DashboardSession) async throws -> Response {
        Self.file(try await visibleJob(call, to: try await view(call, session)).json)
    }

    private func archive(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let job = try await find(call, of: try await view(call, session).tenant)
        var response = Self.file(JSONWriter.object(HAR(job).write))
        response.headers[.contentDisposition] = "attachment; filename=\"\(job.id).har\""
        return response
    }

    private static func file(_ json: [UInt8]) -> Response {
        var headers = Response.pageHeaders
        headers[.contentType] = "application/json"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }

    /// The body, to be saved; a page can show no more of it than an image.
    private func body(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let job = try await find(call, of: session.tenant)
        guard let body = try await jobs.body(of: job.id, tenant: session.tenant) else {
            throw Problem(.notFound, "The job has no response body.")
        }
        var response = try await Representation(body: body).response(to: call, from: blobs)
        // A browser is told no type that it could run.
        if response.status != .notModified, !BodyPreview.isImage(body) {
            response.headers[.contentType] = "application/octet-stream"
        }
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    private func preview(of job: Job, _ tenant: Tenant.ID) async throws -> BodyPreview? {
        guard job.state.isFinal, let body = try await jobs.body(of: job.id, tenant: tenant) else { return nil }
        if BodyPreview.isImage(body), body.bytes <= BodyPreview.maximumImageBytes { return .image }
        var bytes: [UInt8] = []
        switch body.location {
        case .inline(let inline): bytes = inline
        case .blob(let id):
            let reader = try await blobs.open(id, range: 0..<min(body.bytes, Int64(BodyPreview.maximumBytes)))
            while let more = try await reader.next() { bytes += more }
        }
        return BodyPreview(of: bytes, in: body)
    }
}
