import FetchJobs
import HTTPTypes
import Hummingbird
import Logging

// Signing in at an identity provider, by OpenID Connect.

extension DashboardRoutes {
    /// Begins a sign-in.
    static let openIDPath = "/dashboard/oidc"
    /// Where the provider sends people back to.
    static let callbackPath = "/dashboard/oidc/callback"

    var openIDRoutes: [Route] {
        [
            Route(.get, Self.openIDPath) { call in
                guard let provider else { return noProvider }
                return try await begin(call, at: provider)
            },
            Route(.get, Self.callbackPath) { call in
                guard let provider else { return noProvider }
                return try await finish(call, at: provider)
            },
        ]
    }

    private var noProvider: Response {
        let content = MessagePage(
            frame: PageFrame(title: "Not found"), heading: "Not found",
            paragraphs: ["This service has no sign-in by OpenID Connect."])
        return page(.message, content, status: .notFound)
    }

    // MARK: There

    private func begin(_ call: Call, at provider: IdentityProvider) async throws -> Response {
        let next = Self.path(try call.query(allowing: ["next"])["next"])
        guard let metadata = await provider.metadata(from: call.connection) else {
            return signInForm(
                leadingTo: next, error: Failure.provider.message(provider.policy), status: Failure.provider.status)
        }
        let attempt = gate.attempt(leadingTo: next)
        var response = Self.redirect(to: provider.address(of: attempt, metadata))
        response.headers[.setCookie] = try await gate.attemptCookie(attempt, for: call)
        return response
    }

    // MARK: Back

    /// Why nobody is signed in.
    private enum Failure: Error {
        /// The answer belongs to no sign-in that this browser has begun.
        case attempt
        /// The provider has signed nobody in, and says why.
        case refused(String)
        /// The provider does not take the code.
        case code
        /// The provider is away, or does not answer as it should.
        case provider
        /// Its token proves nothing.
        case token(TokenFault)
        case role(TokenSubject)
        case tenant(TokenSubject)
        /// This client has failed too often.
        case tries

        var status: HTTPResponse.Status {
            switch self {
            case .attempt, .code: .badRequest
            case .refused, .role, .tenant: .forbidden
            case .provider: .serviceUnavailable
            case .token: .unauthorized
            case .tries: .tooManyRequests
            }
        }

        /// As the audit log names it.
        var reason: String {
            switch self {
            case .attempt: "attempt"
            case .refused: "refused"
            case .code: "code"
            case .provider: "provider"
            case .token(let fault): "token.\(fault.rawValue)"
            case .role: "role"
            case .tenant: "tenant"
            case .tries: "tries"
            }
        }

        /// Whom the provider has signed in; nil when that is not proved.
        var subject: TokenSubject? {
            switch self {
            case .role(let subject), .tenant(let subject): subject
            case .attempt, .refused, .code, .provider, .token, .tries: nil
            }
        }

        /// What happened, and what to do, for the person at the browser.
        func message(_ policy: OpenIDPolicy) -> String {
            switch self {
            case .attempt:
                "This sign-in was not begun in this browser, or more than 10 minutes ago. Begin it again, at "
                    + "\(policy.dashboard)."
            case .refused(let code): "\(policy.name) has not signed you in: \(code)."
            case .code: "\(policy.name) does not take this sign-in any more. Begin it again."
            case .provider:
                "\(policy.name) does not answer as it should. Try again in a minute, or sign in with an API key; the "
                    + "log of the service says more."
            case .token:
                "What \(policy.name) says of you is not proved. Begin again; if it stays so, the log of the service "
                    + "says more."
            case .role(let subject):
                "\(policy.name) has signed you in as \(subject.subject), but you have no role here. Ask who operates "
                    + "the service for one."
            case .tenant(let subject):
                "\(policy.name) has signed you in as \(subject.subject), but there is no tenant here that you belong "
                    + "to. Ask who operates the service."
            case .tries: DashboardRoutes.tooManyTries
            }
        }
    }

    private func finish(_ call: Call, at provider: IdentityProvider) async throws -> Response {
        let attempt = try await gate.attempt(of: call)
        let answer = OpenIDAnswer(call.request.uri.query)
        guard let attempt, let answer, attempt.isAnswered(by: answer.state) else {
            // The sign-in that this browser may have begun goes on: anybody can send it an answer that is none.
            return failed(.attempt, call, provider, leadingTo: "/dashboard")
        }
        var response: Response
        do {
            response = welcome(
                try await session(for: answer, to: attempt, call, provider), call, leadingTo: attempt.next)
        } catch let failure as Failure {
            response = failed(failure, call, provider, leadingTo: attempt.next)
        }
        response.headers.append(
            HTTPField(name: .setCookie, value: try await gate.attemptCookie(nil, for: call)))
        return response
    }

    private func session(
        for answer: OpenIDAnswer, to attempt: SignInAttempt, _ call: Call, _ provider: IdentityProvider
    ) async throws -> DashboardSession {
        guard let metadata = await provider.metadata(from: call.connection) else { throw Failure.provider }
        guard answer.isOf(provider.policy.issuer, metadata) else { throw Failure.attempt }
        let code =
            switch answer.outcome {
            case .code(let code): code
            case .error(let error): throw Failure.refused(error)
            }
        // Each try asks the provider.
        guard !authenticator.hasFailedTooOften(call) else { throw Failure.tries }
        let person = try await person(by: code, attempt, metadata, call, provider)
        guard let role = person.role else { throw Failure.role(person.subject) }
        let id = SignIn.ID()
        let actor = actor(call, id, person.subject.description)
        let session = try await AuditActor.$current.withValue(actor) {
            guard let tenant = person.tenant else { return nil as DashboardSession? }
            return try await gate.open(id, for: person.subject, as: role, ofTenant: tenant)
        }
        guard let session else { throw Failure.tenant(person.subject) }
        return session
    }

    private func person(
        by code: String, _ attempt: SignInAttempt, _ metadata: ProviderMetadata, _ call: Call,
        _ provider: IdentityProvider
    ) async throws -> IdentityProvider.Person {
        do {
            return try await provider.person(by: code, of: attempt, metadata, from: call.connection)
        } catch {
            let fault = error as? TokenFault
            call.logger.warning(
                "a sign-in by OpenID Connect failed",
                metadata: [
                    "request.id": "\(call.id.text)",
                    "error": "\(fault.map { "its ID token is refused: \($0.rawValue)" } ?? "\(error)")",
                ])
            let refusesCode = (error as? ProviderFault)?.refusesCode == true
            throw fault.map(Failure.token) ?? (refusesCode ? Failure.code : .provider)
        }
    }

    private func failed(
        _ failure: Failure, _ call: Call, _ provider: IdentityProvider, leadingTo next: String
    ) -> Response {
        let details = JSONWriter.object { $0.member("reason", failure.reason) }
        audit.note(
            AuditEvent(
                .failToSignIn, failure.subject?.description, details: RawJSON(details),
                by: authenticator.actor(.anonymous, nil, call)))
        var shown = failure
        switch failure {
        // A person who has changed his mind does not guess, and an answer to nothing is what any page can send here.
        case .refused, .attempt: break
        default: if authenticator.failure(of: call).code == .tooManyFailures { shown = .tries }
        }
        return signInForm(leadingTo: next, error: shown.message(provider.policy), status: shown.status)
    }

    /// A page of ours leads on: the browser would not send its strict cookie where the provider's page has led.
    private func welcome(_ session: DashboardSession, _ call: Call, leadingTo next: String) -> Response {
        var response = page(.welcome, WelcomePage(frame: PageFrame(title: "Signed in"), next: next))
        response.headers[.refresh] = "0; url=\(next)"
        response.headers[.setCookie] = gate.cookie(session, for: call)
        return response
    }
}
