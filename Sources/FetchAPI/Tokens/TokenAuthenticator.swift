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
        policy: TokenPolicy, keys: KnownIssuerKeys, tenants: any TenantStore, metrics: MetricsRegistry,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.policy = policy
        self.keys = keys
        self.tenants = tenants
        self.now = now
        refusals = metrics.counter("fetchd_tokens_refused_total", "Bearer tokens refused, by reason.", labels: "reason")
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
        let audiences = Self.texts(claims["aud"]) ?? []
        guard audiences.contains(where: { $0.utf8.elementsEqual(policy.audience.utf8) }) else { throw .audience }
        let end = try end(claims)
        guard case .string(let subject)? = claims["sub"], TokenSubject.allows(subject) else { throw .subject }
        return Claims(
            subject: TokenSubject(issuer: issuer, subject: subject), tenant: try tenantName(claims),
            scopes: scopes(claims), expiresAt: end)
    }

    /// When a token ends whose time it is: in seconds, the leeway included.
    private func end(_ claims: [JSONMember]) throws(TokenFault) -> Int64 {
        let now = Double(now().seconds)
        let leeway = Double(TokenPolicy.leeway)
        guard let end = try Self.time("exp", claims) else { throw .malformed }
        guard now < end + leeway else { throw .expired }
        for name in ["nbf", "iat"] {
            if let start = try Self.time(name, claims), now < start - leeway { throw .early }
        }
        return Int64(end) + TokenPolicy.leeway
    }

    /// A time that can be reckoned with.
    private static func time(_ name: String, _ claims: [JSONMember]) throws(TokenFault) -> Double? {
        guard let value = claims[name] else { return nil }
        // To the year 9999.
        guard case .number(let number) = value, (0...253_402_300_799).contains(number.double) else { throw .malformed }
        return number.double
    }

    private func tenantName(_ claims: [JSONMember]) throws(TokenFault) -> String {
        switch policy.owner {
        case .tenant(let name): return name
        case .claim(let claim):
            guard case .string(let name)? = claims[claim], !name.isEmpty, name.utf8.count <= SignedToken.maximumName
            else { throw .tenant }
            return name
        }
    }

    /// Those that are known and allowed; providers name others beside them, such as `openid`.
    private func scopes(_ claims: [JSONMember]) -> Set<Scope> {
        let names: [String]
        switch claims[policy.scopeClaim] {
        case .string(let text)?: names = text.split(separator: " ").map { String($0) }
        case let value: names = Self.texts(value) ?? []
        }
        return policy.scopes.filter { scope in names.contains { scope.rawValue.isSame(as: $0) } }
    }

    /// A text, or a list of texts; nil for anything else.
    private static func texts(_ value: JSONValue?) -> [String]? {
        switch value {
        case .string(let text)?: return [text]
        case .array(let elements)?:
            let texts = elements.compactMap { element -> String? in
                guard case .string(let text) = element else { return nil }
                return text
            }
            return texts.count == elements.count ? texts : nil
        default: return nil
        }
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
