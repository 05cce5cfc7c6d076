import FetchJobs
import HTTPTypes
import Hummingbird
import Synchronization

/// Lets in users who have signed in, and only forms that our own pages sent.
final class DashboardGate: Sendable {
    static let maximumForm = 16 * 1024
    static let maximumSignIns = 10_000

    private let signIns: any SignInStore
    private let proxies: TrustedProxies
    private let maximumPagesPerSecond: Int64
    private let now: @Sendable () -> Int64
    /// What the store has said of sign-ins, nil of those that are over.
    ///
    /// It is believed for as long as what it says of keys, so that the end of a sign-in or of its key counts within that
    /// time everywhere (SEC-40).
    private let known = Mutex(
        Recent<SignIn.ID, SignIn?>(lifetime: Authenticator.lifetime, capacity: maximumSignIns))
    private let rates = Mutex(RequestRates())

    /// - Parameter maximumPagesPerSecond: How many pages, forms and streams one tenant gets.
    init(
        signIns: any SignInStore, proxies: TrustedProxies = TrustedProxies(), maximumPagesPerSecond: Int64,
        now: @escaping @Sendable () -> Int64 = { Timestamp.now.seconds }
    ) {
        self.signIns = signIns
        self.proxies = proxies
        self.maximumPagesPerSecond = maximumPagesPerSecond
        self.now = now
    }

    // MARK: Sessions

    /// The session of a request, or nil when it has none that is good.
    func session(of call: Call) async throws -> DashboardSession? {
        // Another node has been spoken to by a name of its own: the cookie that it passes on is called by that.
        let names = call.isForwarded ? [Self.secureCookie, Self.plainCookie] : [cookieName(call)]
        guard let text = names.compactMap({ Self.cookie($0, in: call.headers) }).first else { return nil }
        let secret = try await signIns.secret()
        guard let cookie = SessionCookie(text, secret: secret, now: now()), let signIn = try await live(cookie.signIn)
        else { return nil }
        return DashboardSession(cookie: cookie, signIn: signIn, secret: secret)
    }

    /// Takes a request for a page, before anything is looked up or drawn for it.
    ///
    /// - Throws: ``Problem`` `tooManyRequests`.
    func take(in session: DashboardSession) throws {
        let verdict = rates.withLock { $0.take(of: session.tenant, limit: maximumPagesPerSecond, at: .now) }
        guard !verdict.isAllowed else { return }
        var problem = Problem(
            .tooManyRequests, "A tenant may open \(maximumPagesPerSecond) pages of the dashboard a second on a node."
        ).limited(by: "pages", verdict)
        problem.headers.append(contentsOf: Response.pageHeaders)
        throw problem
    }

    /// Begins a session with a key; nil when that is not valid any more.
    func open(_ id: SignIn.ID, for key: APIKey, as role: Role) async throws -> DashboardSession? {
        try await session(begunBy: try await signIns.begin(id, with: key, as: role, for: Self.lifetime))
    }

    /// Begins a session with a link; nil when that opens nothing any more.
    func open(_ id: SignIn.ID, for link: SignInLink) async throws -> DashboardSession? {
        try await session(begunBy: try await signIns.begin(id, with: link, for: Self.lifetime))
    }

    /// Begins a session of somebody whom an identity provider has signed in; nil when there is no such tenant.
    func open(
        _ id: SignIn.ID, for subject: TokenSubject, as role: Role, ofTenant tenant: String
    ) async throws -> DashboardSession? {
        try await session(
            begunBy: try await signIns.begin(id, of: subject, as: role, forTenant: tenant, for: Self.lifetime))
    }

    private static let lifetime = Duration.seconds(SessionCookie.lifetime)

    private func session(begunBy signIn: SignIn?) async throws -> DashboardSession? {
        guard let signIn else { return nil }
        known.withLock { $0.note(signIn.id, signIn, .now) }
        let cookie = SessionCookie(of: signIn.id, now: now())
        return DashboardSession(cookie: cookie, signIn: signIn, secret: try await signIns.secret())
    }

    /// Ends a session on all nodes: on this one at once.
    func end(_ session: DashboardSession) async throws {
        try await signIns.end(session.signIn.id)
        known.withLock { $0.note(session.signIn.id, nil, .now) }
    }

    /// Refuses a session that has ended since its request came.
    ///
    /// - Throws: ``Problem`` `unauthorized`.
    func require(_ session: DashboardSession) async throws {
        guard try await live(session.signIn.id) != nil else { throw Authenticator.unauthorized }
    }

    private func live(_ id: SignIn.ID) async throws -> SignIn? {
        let asked = ContinuousClock.now
        if let known = known.withLock({ $0[id, asked] }) { return known }
        let signIn = try await signIns.signIn(id)
        known.withLock { known in
            // Whoever signed out meanwhile stays so.
            if known[id, asked] == nil { known.note(id, signIn, asked) }
        }
        return signIn
    }

    // MARK: Cookies

    /// The field that keeps a session in the browser, or takes it away.
    func cookie(_ session: DashboardSession?, for call: Call) -> String {
        field(session.map { $0.cookie.text($0.secret) }, call)
    }

    /// The session's field when its mark of last use is due.
    func renewal(_ session: DashboardSession, for call: Call) -> String? {
        session.cookie.renewed(now: now()).map { field($0.text(session.secret), call) }
    }

    private func field(_ text: String?, _ call: Call) -> String {
        let attributes = "; Path=/; HttpOnly; SameSite=Strict" + (isPlain(call) ? "" : "; Secure")
        return "\(cookieName(call))=\(text.map { "\($0)\(attributes)" } ?? "; Max-Age=0\(attributes)")"
    }

    // MARK: Sign-ins that have been begun

    /// A new sign-in at an identity provider.
    func attempt(leadingTo next: String) -> SignInAttempt { SignInAttempt(leadingTo: next, now: now()) }

    /// The sign-in that the browser of a request has begun; nil when it has none, or too long ago.
    func attempt(of call: Call) async throws -> SignInAttempt? {
        guard let text = Self.cookie(attemptName(call), in: call.headers) else { return nil }
        return SignInAttempt(text, secret: try await signIns.secret(), now: now())
    }

    /// The field that keeps a sign-in that has been begun in the browser, or takes it away.
    ///
    /// A cookie that is bound to a path cannot have the name that keeps other hosts of the domain from setting it. It is
    /// sent with the answer of the provider, which another site's page leads to, and so it is not a strict one.
    func attemptCookie(_ attempt: SignInAttempt?, for call: Call) async throws -> String {
        let text = try attempt?.text(try await signIns.secret())
        let age = text == nil ? 0 : SignInAttempt.lifetime
        return "\(attemptName(call))=\(text ?? ""); Max-Age=\(age); Path=/; HttpOnly; SameSite=Lax"
            + (isPlain(call) ? "" : "; Secure")
    }

    private func attemptName(_ call: Call) -> String { "\(cookieName(call))-oidc" }

    /// Browsers keep `__Host-` cookies for secure origins; plain HTTP on this machine has no such origin everywhere.
    private func cookieName(_ call: Call) -> String { isPlain(call) ? Self.plainCookie : Self.secureCookie }

    private static let secureCookie = "__Host-fetchd"
    private static let plainCookie = "fetchd"

    /// Whether the browser speaks plain HTTP to this machine.
    ///
    /// It is so when the browser itself has named this machine, unless a trusted proxy says that it ends TLS: such a
    /// proxy may name the host that it goes on to. Every other name is taken for one of a proxy with TLS.
    private func isPlain(_ call: Call) -> Bool {
        let authority = call.request.head.authority ?? ""
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        guard ["127.0.0.1", "localhost", "[::1]"].contains(String(host)) else { return false }
        return !proxies.sayTLS(
            from: call.channel.remoteAddress?.ipAddress, forwarded: call.headers[values: .forwarded],
            forwardedProto: call.headers[values: .xForwardedProto])
    }

    static func cookie(_ name: String, in fields: HTTPFields) -> String? {
        for field in fields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.trimmingPrefix(while: \.isWhitespace)
                if pair.hasPrefix("\(name)=") { return String(pair.dropFirst(name.count + 1)) }
            }
        }
        return nil
    }

    // MARK: Forms

    /// The fields of a form that a page of ours sent (SEC-71).
    ///
    /// - Parameters:
    ///   - session: The session of the page; nil for the sign-in forms.
    ///   - limit: How many bytes it may have.
    func form(
        of call: Call, in session: DashboardSession?, upTo limit: Int = maximumForm
    ) async throws -> Query {
        try requireOwnOrigin(call)
        try call.requireContent("application/x-www-form-urlencoded")
        let form = try Query(String(buffer: try await call.body(upTo: limit)))
        if let session {
            guard session.cookie.accepts(formToken: form["token"] ?? "", session.secret) else {
                throw Problem(.forbidden)
            }
        }
        return form
    }

    private func requireOwnOrigin(_ call: Call) throws {
        if let site = call.headers[.secFetchSite] {
            guard site == "same-origin" || site == "none" else { throw Problem(.forbidden) }
            return
        }
        // Browsers without Sec-Fetch-Site say at least where a form comes from.
        guard let origin = call.headers[.origin], call.isOwn(origin: origin) else { throw Problem(.forbidden) }
    }
}
