import Crypto
import FetchJobs
import HTTPTypes
import Logging
import Synchronization

/// Finds the tenant of a request.
///
/// A key that is right always passes: limits are for those who fail. The store's answer about a key is believed for
/// ``lifetime``, so that a revocation counts within that time everywhere (SEC-40). Only digests of tokens are kept.
final class Authenticator: Sendable {
    static let lifetime = Duration.seconds(5)
    static let maximumEntries = 10_000

    private let store: any KeyStore
    private let limiter: FailureLimiter
    private let proxies: TrustedProxies
    /// Nil where no JSON Web Tokens are taken.
    private let tokens: TokenAuthenticator?
    let uses: KeyUses
    private let known = Mutex(Recent<SHA256.Digest, APIKey>(lifetime: lifetime, capacity: maximumEntries))
    /// Apart from valid keys, so that clients without a key cannot evict those.
    private let refused = Mutex(Recent<SHA256.Digest, Void>(lifetime: lifetime, capacity: maximumEntries))

    init(
        store: any KeyStore, limiter: FailureLimiter, proxies: TrustedProxies = TrustedProxies(),
        tokens: TokenAuthenticator? = nil,
        logger: Logger = Logger(label: "fetchd") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.store = store
        self.limiter = limiter
        self.proxies = proxies
        self.tokens = tokens
        uses = KeyUses(store: store, logger: logger)
    }

    /// Who makes a request, for the audit log.
    ///
    /// - Parameter key: Nil when it has shown none that is valid.
    func actor(_ kind: AuditActor.Kind, _ key: APIKey?, _ call: Call) -> AuditActor {
        AuditActor(
            kind, key: key?.auditName, client: call.client(through: proxies)?.description, request: call.id.text)
    }

    /// The key of a request.
    func key(of call: Call) async throws -> APIKey {
        guard let field = call.headers.value(of: .authorization) else { throw Self.unauthorized }
        let scheme = field.utf8.prefix(7)
        guard String(decoding: scheme, as: UTF8.self).lowercased() == "bearer " else { throw Self.unauthorized }
        let text = field[scheme.endIndex...]
        guard let tokens, !text.utf8.starts(with: "fk_".utf8) else { return try await key(of: text, from: call) }
        let now = ContinuousClock.now
        guard let key = try await tokens.key(of: text, from: call.connection) else { throw failure(of: call, now) }
        return key
    }

    /// The stored key that a text proves.
    ///
    /// - Throws: ``Problem`` `unauthorized`, the same for every fault; `tooManyFailures` when it is wrong and the
    ///   client failed too often before.
    func key(of text: some StringProtocol, from call: Call) async throws -> APIKey {
        let now = ContinuousClock.now
        let digest = SHA256.hash(data: Array(text.utf8.prefix(256)))
        if let key = known.withLock({ $0[digest, now] }), key.isValid(at: .now) {
            uses.note(key.id)
            return key
        }
        // A text that is no token, or was refused a moment ago, costs no look into the store.
        guard let token = APIKeyToken(text), refused.withLock({ $0[digest, now] }) == nil else {
            throw failure(of: call, now)
        }
        guard let key = try await store.authenticate(token) else {
            known.withLock { $0.forget(digest) }
            refused.withLock { $0.note(digest, (), now) }
            throw failure(of: call, now)
        }
        known.withLock { $0.note(digest, key, now) }
        uses.note(key.id)
        return key
    }

    /// Counts a failure of a client.
    ///
    /// - Returns: ``Problem`` `unauthorized`; `tooManyFailures` when the client failed too often before.
    func failure(of call: Call, _ now: ContinuousClock.Instant = .now) -> Problem {
        let client = call.client(through: proxies)
        guard let wait = limiter.wait(for: client, now: now) else {
            limiter.fail(client, now: now)
            return Self.unauthorized
        }
        return Problem(.tooManyFailures).limited(
            by: "failures", quota: limiter.limit, window: Int(FailureLimiter.window.components.seconds),
            retryingAfter: wait)
    }

    /// Whether a client has failed too often before, for who would ask others for each of its tries.
    func hasFailedTooOften(_ call: Call, _ now: ContinuousClock.Instant = .now) -> Bool {
        limiter.wait(for: call.client(through: proxies), now: now) != nil
    }

    static let unauthorized: Problem = {
        var problem = Problem(.unauthorized, "Send an API key as \"Authorization: Bearer fk_…\".")
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"fetchd\""
        return problem
    }()
}
