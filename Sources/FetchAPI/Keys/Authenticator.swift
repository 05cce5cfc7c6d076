import Crypto
import FetchJobs
import HTTPTypes
import Synchronization

/// Tells whom a request speaks for.
///
/// What the store said of a key is believed for ``lifetime``, so that a revocation counts within that time everywhere
/// (SEC-40). Only digests of tokens are kept.
final class Authenticator: Sendable {
    static let lifetime = Duration.seconds(5)
    static let maximumEntries = 10_000

    private struct Entry {
        let key: APIKey
        let askedAt: ContinuousClock.Instant
    }

    private let store: any KeyStore
    private let limiter: FailureLimiter
    private let known = Mutex<[SHA256.Digest: Entry]>([:])

    init(store: any KeyStore, limiter: FailureLimiter) {
        self.store = store
        self.limiter = limiter
    }

    /// The tenant that a request's bearer token speaks for.
    func tenant(of call: Call) async throws -> Tenant.ID { try await key(of: call).tenant }

    /// Refuses a request whose bearer token does not speak for an operator.
    func requireAdmin(_ call: Call) async throws {
        guard try await key(of: call).isAdmin else { throw Problem(.adminRequired) }
    }

    private func key(of call: Call) async throws -> APIKey {
        guard let field = call.headers[.authorization] else { throw Self.unauthorized }
        let scheme = field.prefix(7)
        guard scheme.lowercased() == "bearer " else { throw Self.unauthorized }
        return try await key(of: field.dropFirst(7), from: call)
    }

    /// The key that a token proves.
    ///
    /// - Throws: ``Problem`` `unauthorized`, the same whatever is wrong; `tooManyFailures` for an address that failed
    ///   too often, except with tokens that were right a short while ago.
    func key(of text: some StringProtocol, from call: Call) async throws -> APIKey {
        let now = ContinuousClock.now
        let digest = SHA256.hash(data: Array(text.utf8.prefix(256)))
        let entry = known.withLock { $0[digest] }
        if let entry, now - entry.askedAt < Self.lifetime { return entry.key }
        if entry == nil, let wait = limiter.wait(for: call.remoteAddress, now: now) {
            throw Problem(.tooManyFailures)
                .limited(
                    by: "failures", quota: limiter.limit,
                    window: Int(FailureLimiter.window.components.seconds), retryingAfter: wait)
        }
        guard let token = APIKeyToken(text), let key = try await store.authenticate(token) else {
            known.withLock { _ = $0.removeValue(forKey: digest) }
            limiter.fail(call.remoteAddress, now: now)
            throw Self.unauthorized
        }
        known.withLock { known in
            if known.count >= Self.maximumEntries { known.removeAll() }
            known[digest] = Entry(key: key, askedAt: now)
        }
        return key
    }

    private static let unauthorized: Problem = {
        var problem = Problem(.unauthorized, "Send an API key as \"Authorization: Bearer fk_…\".")
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"fetchd\""
        return problem
    }()
}
