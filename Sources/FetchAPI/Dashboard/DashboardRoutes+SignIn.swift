import FetchJobs
import HTTPTypes
import Hummingbird

// Signing in, by a key or by a link from the terminal, and out.

extension DashboardRoutes {
    static let linkPath = "/dashboard/link"

    var signInRoutes: [Route] {
        [
            Route(.get, "/dashboard/sign-in", signInForm),
            Route(.post, "/dashboard/sign-in", signIn),
            Route(.get, Self.linkPath) { _ in linkForm(error: nil, status: .ok) },
            Route(.post, Self.linkPath, redeem),
            Route(.post, "/dashboard/sign-out", signOut),
        ]
    }

    // MARK: By a key

    private func signInForm(_ call: Call) async throws -> Response {
        let next = try call.query(allowing: ["next"])["next"]
        return signInForm(leadingTo: Self.path(next), error: nil, status: .ok)
    }

    func signInForm(leadingTo next: String, error: String?, status: HTTPResponse.Status) -> Response {
        let other = provider.map { provider in
            SignInPage.Provider(name: provider.policy.name, address: "\(Self.openIDPath)?next=\(next.percentEncoded)")
        }
        let content = SignInPage(frame: PageFrame(title: "Sign in"), next: next, error: error, provider: other)
        return page(.signIn, content, status: status)
    }

    private func signIn(_ call: Call) async throws -> Response {
        let form = try await gate.form(of: call, in: nil)
        let next = Self.path(form["next"])
        do {
            let key = try await authenticator.key(of: form["key"] ?? "", from: call)
            // Its pages show all of a tenant.
            guard !key.spec.seesPart, let role = Role(key.spec.scopes) else {
                let message =
                    "The dashboard takes keys that may read all jobs of their tenant (--role viewer), or more."
                return signInForm(leadingTo: next, error: message, status: .forbidden)
            }
            let id = SignIn.ID()
            let session = try await AuditActor.$current.withValue(actor(call, id, key.id.description)) {
                try await gate.open(id, for: key, as: role)
            }
            guard let session else { throw authenticator.failure(of: call) }
            return welcome(session, call, next)
        } catch let problem as Problem where Self.isFailure(problem) {
            noteFailure(call)
            let message = problem.code == .unauthorized ? "This is not a valid API key." : Self.tooManyTries
            return signInForm(leadingTo: next, error: message, status: problem.code.status)
        }
    }

    // MARK: By a link

    /// The page that a link leads to: its script sends the text behind the `#`, which no server and no log ever gets.
    private func linkForm(error: String?, status: HTTPResponse.Status) -> Response {
        let content = LinkPage(frame: PageFrame(title: "Sign in"), error: error)
        return page(.link, content, status: status)
    }

    private func redeem(_ call: Call) async throws -> Response {
        let form = try await gate.form(of: call, in: nil)
        let id = SignIn.ID()
        do {
            guard let link = SignInLink(form["code"] ?? ""),
                let session = try await AuditActor.$current.withValue(
                    actor(call, id, nil), operation: { try await gate.open(id, for: link) })
            else { throw authenticator.failure(of: call) }
            return welcome(session, call, "/dashboard")
        } catch let problem as Problem where Self.isFailure(problem) {
            noteFailure(call)
            let message =
                problem.code == .unauthorized
                ? "This link opens nothing any more: make another one with fetchd dashboard link."
                : Self.tooManyTries
            return linkForm(error: message, status: problem.code.status)
        }
    }

    private func welcome(_ session: DashboardSession, _ call: Call, _ next: String) -> Response {
        var response = Self.redirect(to: next)
        response.headers[.setCookie] = gate.cookie(session, for: call)
        return response
    }

    static let tooManyTries = "Too many tries; wait a minute."

    private static func isFailure(_ problem: Problem) -> Bool {
        problem.code == .unauthorized || problem.code == .tooManyFailures
    }

    private func noteFailure(_ call: Call) {
        audit.note(AuditEvent(.failToSignIn, by: authenticator.actor(.anonymous, nil, call)))
    }

    // MARK: Out

    private func signOut(_ call: Call) async throws -> Response {
        var response = Self.redirect(to: "/dashboard/sign-in")
        if let session = try await gate.session(of: call) {
            _ = try await gate.form(of: call, in: session)
            try await AuditActor.$current.withValue(actor(call, session)) { try await gate.end(session) }
            response.headers[.setCookie] = gate.cookie(nil, for: call)
        }
        return response
    }

    func actor(_ call: Call, _ session: DashboardSession) -> AuditActor {
        actor(call, session.signIn.id, session.signIn.key?.description ?? session.signIn.subject)
    }

    /// - Parameter key: The id of the key that the sign-in began with, or whom a provider has signed in; nil for a link.
    func actor(_ call: Call, _ id: SignIn.ID, _ key: String?) -> AuditActor {
        var actor = authenticator.actor(.dashboard, nil, call)
        actor.key = key
        actor.signIn = id.uuid.base32
        return actor
    }
}
