import FetchJobs
import HTTPTypes
import Hummingbird
import Synchronization

/// Lets in users who have signed in, and only forms that our own pages sent.
final class DashboardGate: Sendable {
    private struct LiveKeys {
        var ids: Set<APIKey.ID> = []
        var askedAt: ContinuousClock.Instant?
    }

    static let maximumForm = 16 * 1024

    private let secret: SessionSecret
    private let keys: any KeyStore
    private let now: @Sendable () -> Int64
    private let live = Mutex(LiveKeys())
    /// Sessions that were signed out before they ended, with the time they would have ended at.
    private let ended = Mutex<[UUIDv7: Int64]>([:])

    init(secret: SessionSecret, keys: any KeyStore, now: @escaping @Sendable () -> Int64 = { Timestamp.now.seconds }) {
        self.secret = secret
        self.keys = keys
        self.now = now
    }

    // MARK: Sessions

    /// The session of a request, or nil when it has none that is good.
    func session(of call: Call) async throws -> DashboardSession? {
        let name = cookieName(call)
        guard let token = Self.cookie(name, in: call.headers),
            let session = DashboardSession(token: token, secret: secret, now: now()),
            ended.withLock({ $0[session.nonce] == nil }), try await isLive(session.key)
        else { return nil }
        return session
    }

    func open(for key: APIKey) -> DashboardSession { DashboardSession(key: key, now: now()) }

    func end(_ session: DashboardSession) {
        let now = now()
        ended.withLock { ended in
            ended = ended.filter { $0.value > now }
            ended[session.nonce] = session.signedInAt + DashboardSession.lifetime
        }
    }

    func formToken(_ session: DashboardSession) -> String { session.formToken(secret) }

    /// The field that keeps a session in the browser, or takes it away.
    func cookie(_ session: DashboardSession?, for call: Call) -> String {
        let isLocal = isLocal(call)
        let attributes = "; Path=/; HttpOnly; SameSite=Strict" + (isLocal ? "" : "; Secure")
        guard let session else { return "\(cookieName(call))=; Max-Age=0\(attributes)" }
        return "\(cookieName(call))=\(session.token(secret))\(attributes)"
    }

    /// The session's field when its mark of last use is due.
    func renewal(_ session: DashboardSession, for call: Call) -> String? {
        session.renewed(now: now()).map { cookie($0, for: call) }
    }

    /// A key that was revoked opens nothing any more, after at most five seconds (SEC-40).
    private func isLive(_ key: APIKey.ID) async throws -> Bool {
        let now = ContinuousClock.now
        let known = live.withLock { live in
            live.askedAt.flatMap { now - $0 < Authenticator.lifetime ? live.ids : nil }
        }
        if let known { return known.contains(key) }
        let ids = Set(
            try await keys.keys(of: nil, after: nil, limit: .max).filter { $0.key.isValid(at: .now) }.map(\.key.id))
        live.withLock { $0 = LiveKeys(ids: ids, askedAt: now) }
        return ids.contains(key)
    }

    /// A key that was made a moment ago may not be among those we know.
    func learn(_ key: APIKey.ID) { live.withLock { _ = $0.ids.insert(key) } }

    // MARK: Cookies

    /// Browsers keep `__Host-` cookies for secure origins; plain HTTP on this machine has no such origin everywhere.
    private func cookieName(_ call: Call) -> String { isLocal(call) ? "fetchd" : "__Host-fetchd" }

    /// Whether the browser itself named this machine: a proxy that ends TLS is named by its public name.
    private func isLocal(_ call: Call) -> Bool {
        let authority = call.request.head.authority ?? ""
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return ["127.0.0.1", "localhost", "[::1]"].contains(String(host))
    }

    private static func cookie(_ name: String, in fields: HTTPFields) -> String? {
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
    /// - Parameter session: The session of the page; nil for the sign-in form.
    func form(of call: Call, in session: DashboardSession?) async throws -> Query {
        try requireOwnOrigin(call)
        try call.requireContent("application/x-www-form-urlencoded")
        let form = try Query(String(buffer: try await call.body(upTo: Self.maximumForm)))
        if let session {
            guard session.accepts(formToken: form["token"] ?? "", secret) else { throw Problem(.forbidden) }
        }
        return form
    }

    private func requireOwnOrigin(_ call: Call) throws {
        if let site = call.headers[.secFetchSite] {
            guard site == "same-origin" || site == "none" else { throw Problem(.forbidden) }
            return
        }
        // Browsers without Sec-Fetch-Site say at least where a form comes from.
        guard let origin = call.headers[.origin], let authority = call.request.head.authority,
            origin == "https://\(authority)" || origin == "http://\(authority)"
        else { throw Problem(.forbidden) }
    }
}
