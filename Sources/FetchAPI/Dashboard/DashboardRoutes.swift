import FetchJobs
import HTTPTypes
import Hummingbird

/// The dashboard: pages for people, made on the server, with no script.
struct DashboardRoutes: Sendable {
    static let pageSize = 50
    static let previewBytes = 4096

    let jobs: any JobStore
    let limiters: any LimiterStore
    let questions: any QuestionStore
    let answers: QuestionAnswers
    let blobs: any BlobStore
    let authenticator: Authenticator
    let audit: any AuditLog
    let gate: DashboardGate
    let templates: Templates

    var routes: [Route] {
        [
            Route(.get, "/") { _ in Self.redirect(to: "/dashboard") },
            Route(.get, "/dashboard/style.css") { _ in Self.style },
            Route(.get, "/dashboard/sign-in", signInForm),
            Route(.post, "/dashboard/sign-in", signIn),
            Route(.post, "/dashboard/sign-out", signOut),
            Route(.get, "/dashboard", signedIn(overview)),
            Route(.get, "/dashboard/jobs", signedIn(list)),
            Route(.get, "/dashboard/jobs/{id}", signedIn(job)),
            Route(.post, "/dashboard/jobs/{id}/cancel", signedIn(cancel)),
        ] + Limiter.Kind.allCases.flatMap(limiterRoutes) + questionRoutes
    }

    private static let style: Response = {
        var response = Response.text(Embedded.files["style.css"] ?? "", type: "text/css; charset=utf-8")
        response.headers[.cacheControl] = "public, max-age=300"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        return response
    }()

    // MARK: Signing in and out

    private func signInForm(_ call: Call) async throws -> Response {
        let next = try call.query(allowing: ["next"])["next"]
        return page(.signIn, SignInPage(frame: PageFrame(title: "Sign in"), next: Self.path(next), error: nil))
    }

    private func signIn(_ call: Call) async throws -> Response {
        let form = try await gate.form(of: call, in: nil)
        let next = Self.path(form["next"])
        do {
            let key = try await authenticator.key(of: form["key"] ?? "", from: call)
            // Its pages show all of a tenant, and act on jobs, questions and limits.
            guard !key.spec.seesPart, Role.operator.scopes.isSubset(of: key.spec.scopes) else {
                let message = "The dashboard takes keys with the rights of an operator (--role operator) or more."
                let content = SignInPage(frame: PageFrame(title: "Sign in"), next: next, error: message)
                return page(.signIn, content, status: .forbidden)
            }
            gate.learn(key.id)
            let session = gate.open(for: key)
            try await audit.record(AuditEvent(.signIn, of: key.tenant, by: actor(call, session)))
            var response = Self.redirect(to: next)
            response.headers[.setCookie] = gate.cookie(session, for: call)
            return response
        } catch let problem as Problem where problem.code == .unauthorized || problem.code == .tooManyFailures {
            audit.note(AuditEvent(.failToSignIn, by: authenticator.actor(.anonymous, nil, call)))
            let message =
                problem.code == .unauthorized ? "This is not a valid API key." : "Too many tries; wait a minute."
            let content = SignInPage(frame: PageFrame(title: "Sign in"), next: next, error: message)
            return page(.signIn, content, status: problem.code.status)
        }
    }

    private func signOut(_ call: Call) async throws -> Response {
        var response = Self.redirect(to: "/dashboard/sign-in")
        if let session = try await gate.session(of: call) {
            _ = try await gate.form(of: call, in: session)
            try await audit.record(AuditEvent(.signOut, of: session.tenant, by: actor(call, session)))
            gate.end(session)
            response.headers[.setCookie] = gate.cookie(nil, for: call)
        }
        return response
    }

    private func actor(_ call: Call, _ session: DashboardSession) -> AuditActor {
        var actor = authenticator.actor(.dashboard, nil, call)
        actor.key = session.key.description
        actor.signIn = session.nonce.base32
        return actor
    }

    /// A page for signed-in visitors; redirects others to the sign-in page, which leads back.
    func signedIn(
        _ handler: @escaping @Sendable (Call, DashboardSession) async throws -> Response
    ) -> @Sendable (Call) async throws -> Response {
        { call in
            guard let session = try await gate.session(of: call) else {
                let next = call.request.method == .get ? call.request.uri.string : "/dashboard"
                let escaped = Self.path(next).replacing("&", with: "%26").replacing("?", with: "%3F")
                return Self.redirect(to: "/dashboard/sign-in?next=\(escaped)")
            }
            var response = try await AuditActor.$current.withValue(actor(call, session)) {
                try await pages(call, session, handler)
            }
            if response.headers[.setCookie] == nil, let cookie = gate.renewal(session, for: call) {
                response.headers[.setCookie] = cookie
            }
            return response
        }
    }

    /// Shows a problem as a page of the dashboard.
    private func pages(
        _ call: Call,
        _ session: DashboardSession,
        _ handler: @Sendable (Call, DashboardSession) async throws -> Response
    ) async throws -> Response {
        do {
            return try await handler(call, session)
        } catch let problem as Problem {
            let content = MessagePage(
                frame: frame(problem.code.title, session),
                heading: problem.code.title,
                paragraphs: [problem.detail, problem.code.advice].compactMap(\.self)
            )
            return page(.message, content, status: problem.code.status)
        }
    }

    // MARK: Pages

    private func overview(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let overview = try await jobs.overview(of: session.tenant)
        return page(.overview, OverviewPage(overview, frame: frame("Overview", session), now: .now))
    }

    private func list(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try call.query(allowing: ["state", "status", "cursor"])
        let filter = try JobFilter(query)
        let after = try query["cursor"].map { try JobCursor($0, filter: filter).after }
        let items = try await jobs.jobs(
            of: session.tenant,
            matching: filter,
            page: JobPage(limit: Self.pageSize + 1, after: after)
        )
        let shown = Array(items.prefix(Self.pageSize))
        let next = items.count > shown.count ? shown.last.map { JobCursor(after: $0.id, filter: filter) } : nil
        let chosen = [filter.state?.rawValue, filter.status.map { "answered \($0)" }].compactMap(\.self)
        let title = (["Jobs"] + (chosen.isEmpty ? [] : [chosen.joined(separator: ", ")])).joined(separator: ": ")
        return page(.jobs, JobListPage(shown, filter, next: next, frame: frame(title, session), now: .now))
    }

    private func job(_ call: Call, _ session: DashboardSession) async throws -> Response {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: session.tenant) else {
            throw JobRoutes.notFound
        }
        let preview = try await preview(of: job, session.tenant)
        return page(.job, JobDetailPage(job, preview: preview, frame: frame("Job \(id)", session)))
    }

    private func cancel(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = Job.ID(call.parameter), try await jobs.cancel(id, of: session.tenant, .plainly) != nil else {
            throw JobRoutes.notFound
        }
        return Self.redirect(to: "/dashboard/jobs/\(id)")
    }

    private func preview(of job: Job, _ tenant: Tenant.ID) async throws -> String? {
        guard job.state.isFinal, let body = try await jobs.body(of: job.id, tenant: tenant) else { return nil }
        var bytes: [UInt8] = []
        switch body.location {
        case .inline(let inline): bytes = inline
        case .blob(let id):
            let reader = try await blobs.open(id, range: 0..<min(body.bytes, Int64(Self.previewBytes)))
            while let more = try await reader.next() { bytes += more }
        }
        return VisibleText.preview(of: bytes, limit: Self.previewBytes)
    }

    // MARK: Answers

    func frame(_ title: String, _ session: DashboardSession) -> PageFrame {
        PageFrame(title: title, formToken: gate.formToken(session))
    }

    func page(_ template: Templates.Page, _ content: Any, status: HTTPResponse.Status = .ok) -> Response {
        .page(templates.render(template, content), status: status)
    }

    static func redirect(to path: String) -> Response {
        var headers = Response.pageHeaders
        headers[.contentType] = nil
        headers[.location] = path
        return Response(status: .seeOther, headers: headers)
    }

    /// A path of the dashboard, and nothing that leads elsewhere.
    static func path(_ text: String?) -> String {
        guard let text, text == "/dashboard" || text.hasPrefix("/dashboard/") || text.hasPrefix("/dashboard?"),
            text.utf8.count <= 512,
            text.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~/?&=".utf8.contains(byte)
                }
            })
        else { return "/dashboard" }
        return text
    }
}
