import FetchJobs
import HTTPTypes
import Hummingbird

/// The dashboard: pages for people, made on the server, each of which does its work without scripts.
///
/// A screen is a line in ``Navigation/screens``, its routes in ``routes`` and in ``DashboardAccess``, and a template in
/// ``Templates``.
struct DashboardRoutes: Sendable {
    static let pageSize = 50

    let ports: Server.Ports
    let retrier: JobRetrier
    let actions: DashboardActions
    let answers: QuestionAnswers
    let authenticator: Authenticator
    let gate: DashboardGate
    /// Where people sign in by OpenID Connect; nil for nowhere.
    let provider: IdentityProvider?
    let templates: Templates
    let drawing = PageDrawing()

    var jobs: any JobStore { ports.jobs }
    var keys: any KeyStore { ports.keys }
    var limiters: any LimiterStore { ports.limiters }
    var questions: any QuestionStore { ports.questions }
    var blobs: any BlobStore { ports.blobs }
    var audit: any AuditLog { ports.audit }

    /// The routes of all screens, one list a line.
    var routes: [Route] {
        let lists = [
            StaticFile.all.map(\.route),
            frameRoutes,
            signInRoutes,
            openIDRoutes,
            overviewRoutes,
            jobListRoutes,
            jobRoutes,
            newJobRoutes,
            groupRoutes,
            scheduleRoutes,
            Limiter.Kind.allCases.flatMap(limiterRoutes),
            questionRoutes,
            sessionRoutes,
            cookieRoutes,
            credentialRoutes,
            cacheRoutes,
            webhookRoutes,
            serviceRoutes,
            keyRoutes,
            auditRoutes,
        ]
        return lists.flatMap(\.self)
    }

    private var frameRoutes: [Route] {
        [
            Route(.get, "/") { _ in Self.redirect(to: "/dashboard") },
            Route(.post, "/dashboard/theme", chooseTheme),
        ]
    }

    /// Changes nothing but the colours that this browser is shown, so it takes forms of our own pages without a token.
    private func chooseTheme(_ call: Call) async throws -> Response {
        let form = try await gate.form(of: call, in: nil)
        var response = Self.redirect(to: Self.path(form["next"]))
        response.headers[.setCookie] = (try form.oneOf("theme", Theme.self) ?? .system).cookie
        return response
    }

    // MARK: Visitors

    /// A page or form for signed-in visitors of a role; others are sent to the sign-in page, which leads back.
    func page(
        _ method: HTTPRequest.Method, _ path: String,
        _ handler: @escaping @Sendable (Call, DashboardSession) async throws -> Response
    ) -> Route {
        Route(method, path) { call in
            guard let session = try await gate.session(of: call) else {
                let next = call.request.method == .get ? call.request.uri.string : "/dashboard"
                return Self.redirect(to: "/dashboard/sign-in?next=\(Self.escaped(Self.path(next)))")
            }
            // Told plainly, not as a page: drawing that would cost what the limit saves.
            try gate.take(in: session)
            let actor = actor(call, session)
            var response = try await AuditActor.$current.withValue(actor) {
                try await pages(call, session) { call, session in
                    guard session.may(method, path) else {
                        let refused = "\(method.label) \(path)"
                        audit.note(AuditEvent(.refuseRequest, refused, of: session.tenant, by: actor))
                        throw Problem(.roleRequired, "You are signed in as \(session.signIn.role.rawValue).")
                    }
                    return try await handler(call, session)
                }
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
                frame: frame(problem.code.title, call, session),
                heading: problem.code.title,
                paragraphs: [problem.detail, problem.code.advice].compactMap(\.self)
            )
            return page(.message, content, status: problem.code.status)
        }
    }

    // MARK: Answers

    func frame(_ title: String, _ call: Call, _ session: DashboardSession) -> PageFrame {
        PageFrame(title: title, call, session)
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
                default: "-._~/?&=%+:,*".utf8.contains(byte)
                }
            })
        else { return "/dashboard" }
        return text
    }

    /// A path of the dashboard as the value of a parameter, readable where it can be.
    private static func escaped(_ path: String) -> String {
        [("%", "%25"), ("&", "%26"), ("?", "%3F"), ("+", "%2B")].reduce(path) { $0.replacing($1.0, with: $1.1) }
    }
}
