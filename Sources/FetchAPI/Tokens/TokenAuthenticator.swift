import Crypto
import FetchJobs
import FetchRuntime
import Synchronization

/// Finds what a JSON Web Token proves: the rights of an API key that nobody has stored.
///
/// A token that is right always passes: limits are for those who fail. What was found is believed for as long as the
/// store's answer about a key, so a token that comes often is checked once in a while.
final class TokenAuthenticator: Sendable {
    let keys: KnownIssuerKeys
    private let policy: TokenPolicy
    private let tenants: any TenantStore
    private let revocations: any TokenRevocationStore
    private let refusals: MetricFamily<Counter>
    private let now: @Sendable () -> Timestamp
    private let known = Mutex(
        Recent<SHA256.Digest, APIKey>(
            lifetime: Authenticator.lifetime, capacity: Authenticator.maximumEntries))
    /// Apart from the right ones, so that clients with wrong tokens cannot evict those.
    private let refused = Mutex(
        Recent<SHA256.Digest, TokenFault>(
            lifetime: Authenticator.lifetime, capacity: Authenticator.maximumEntries))
    private let knownTenants = Mutex(
        Recent<String, Tenant.ID?>(lifetime: Authenticator.lifetime, capacity: Authenticator.maximumEntries))

    init(
        policy: TokenPolicy, keys: KnownIssuerKeys, tenants: any TenantStore, revocations: any TokenRevocationStore,
        metrics: MetricsRegistry,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.policy = policy
        self.keys = keys
        self.tenants = tenants
        self.revocations = revocations
        self.now = now
        refusals = metrics.counter(.tokensRefused)
    }

    /// What a token proves; nil when that is nothing.
    ///
    /// - Throws: When the store is away.
    func key(of text: some StringProtocol, from client: Connection?) async throws -> APIKey? {
        let asked = ContinuousClock.now
        // Too long for a token: not even its digest is worth the work.
        guard text.utf8.count <= SignedToken.maximumLength else { return refusing(.malformed) }
        let digest = SHA256.hash(data: Array(text.utf8))
        if let key = known.withLock({ $0[digest, asked] }), key.isValid(at: now()) { return key }
        if let fault = refused.withLock({ $0[digest, asked] }) { return refusing(fault) }
        let claims: Claims
        do throws(TokenFault) { claims = try await self.claims(of: try SignedToken(text), client) } catch {
            // Its key may come, and its time; the rest of it stays as it is.
            if error != .key, error != .early { refused.withLock { $0.note(digest, error, asked) } }
            return refusing(error)
        }
        guard let tenant = try await tenant(named: claims.tenant) else { return refusing(.tenant) }
        guard try await !revocations.isRevoked(claims.identity) else {
            refused.withLock { $0.note(digest, .revoked, asked) }
            return refusing(.revoked)
        }
        let key = key(claims, tenant)
        known.withLock { $0.note(digest, key, asked) }
        return key
    }

    private func refusing(_ fault: TokenFault) -> APIKey? {
        refusals[fault.rawValue].add()
        return nil
    }

    // MARK: Claims

    private struct Claims {
        let subject: TokenSubject
        /// What a revocation finds it by.
        let identity: TokenIdentity
        /// The name of the tenant.
        let tenant: String
        let scopes: Set<Scope>
        let expiresAt: Int64
    }

    private func claims(of token: SignedToken, _ client: Connection?) async throws(TokenFault) -> Claims {
        guard policy.algorithms.contains(token.algorithm) else { throw .algorithm }
        guard let keys = await keys.keys(for: token, from: client) else { throw .key }
        try keys.check(token)
        let claims = token.claims
        guard case .string(let issuer)? = claims["iss"], issuer.utf8.elementsEqual(policy.issuer.utf8) else {
            throw .issuer
        }
        let audiences = claims.texts("aud") ?? []
        guard audiences.contains(where: { $0.utf8.elementsEqual(policy.audience.utf8) }) else { throw .audience }
        let end = try claims.end(at: now())
        guard case .string(let subject)? = claims["sub"], TokenSubject.allows(subject) else { throw .subject }
        return Claims(
            subject: TokenSubject(issuer: issuer, subject: subject),
            identity: TokenIdentity(id: claims.tokenID, subject: subject, issuedAt: try claims.issuedAt),
            tenant: try claims.tenant(of: policy.owner),
            scopes: scopes(claims), expiresAt: end)
    }

    /// Those that are known and allowed; providers name others beside them, such as `openid`.
    private func scopes(_ claims: [JSONMember]) -> Set<Scope> {
        let names: [String]
        switch claims[policy.scopeClaim] {
        case .string(let text)?: names = text.split(separator: " ").map { String($0) }
        default: names = claims.texts(policy.scopeClaim) ?? []
        }
        return policy.scopes.filter { scope in names.contains { scope.rawValue.isSame(as: $0) } }
    }

    // MARK: Rights

    private func tenant(named name: String) async throws -> Tenant.ID? {
        let asked = ContinuousClock.now
        if let known = knownTenants.withLock({ $0[name, asked] }) { return known }
        let tenant = try await tenants.tenant(named: name)?.tenant.id
        knownTenants.withLock { $0.note(name, tenant, asked) }
        return tenant
    }

    private func key(_ claims: Claims, _ tenant: Tenant.ID) -> APIKey {
        let spec = APIKeySpec(
            name: claims.subject.description, scopes: claims.scopes,
            expiresAt: Timestamp(microseconds: claims.expiresAt * 1_000_000))
        return APIKey(of: claims.subject, tenant: tenant, spec: spec, createdAt: now())
    }
}
