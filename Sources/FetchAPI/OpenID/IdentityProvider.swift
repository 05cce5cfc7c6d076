import FetchJobs
import FetchRuntime
import FoundationEssentials
import Logging

/// The identity provider that people sign in to the dashboard at, by OpenID Connect with an authorization code and PKCE.
final class IdentityProvider: Sendable {
    /// The longest ID token that is read, in bytes: some name hundreds of groups.
    private static let maximumToken = 65_536

    /// A person whom the provider has signed in.
    struct Person: Sendable, Equatable {
        let subject: TokenSubject
        /// Nil for one who may do nothing here.
        let role: Role?
        /// The name of a tenant; nil when the claim for it is missing.
        let tenant: String?
    }

    let policy: OpenIDPolicy
    let keys: KnownIssuerKeys
    private let discovery: ProviderDiscovery
    private let ask: ProviderClient
    private let now: @Sendable () -> Timestamp

    init(
        _ policy: OpenIDPolicy, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now },
        ask: @escaping ProviderClient
    ) {
        self.policy = policy
        self.ask = ask
        self.now = now
        let discovery = ProviderDiscovery(issuer: policy.issuer, ask: ask)
        self.discovery = discovery
        keys = KnownIssuerKeys(
            interval: .seconds(600), shortest: .seconds(5), logger: logger, load: discovery.load)
    }

    /// What the provider says of itself; nil when it could not be read yet.
    func metadata(from client: Connection?) async -> ProviderMetadata? {
        if let known = discovery.metadata { return known }
        _ = await keys.keys(from: client)
        return discovery.metadata
    }

    // MARK: There

    /// Where a browser goes to begin a sign-in (OpenID Connect Core 1.0 §3.1.2.1).
    func address(of attempt: SignInAttempt, _ metadata: ProviderMetadata) -> String {
        let endpoint = metadata.authorizationEndpoint.description
        let parameters = Query.text([
            ("response_type", "code"), ("client_id", policy.clientID), ("redirect_uri", policy.redirectURI),
            ("scope", policy.scopes), ("state", attempt.state), ("nonce", attempt.nonce),
            ("code_challenge", attempt.challenge), ("code_challenge_method", "S256"),
        ])
        return endpoint.contains("?") ? endpoint + parameters : "\(endpoint)?\(parameters.dropFirst())"
    }

    // MARK: Back

    /// The person whom a code is for.
    ///
    /// - Throws: ``ProviderFault`` when the provider gives no ID token for it; ``TokenFault`` when that proves nothing.
    func person(
        by code: String, of attempt: SignInAttempt, _ metadata: ProviderMetadata, from client: Connection?
    ) async throws -> Person {
        let token = try SignedToken(try await token(by: code, attempt, metadata), upTo: Self.maximumToken)
        guard let keys = await keys.keys(for: token, from: client) else { throw TokenFault.key }
        try keys.check(token)
        return try person(in: token, of: attempt)
    }

    /// Exchanges a code (RFC 6749 §4.1.3).
    private func token(
        by code: String, _ attempt: SignInAttempt, _ metadata: ProviderMetadata
    ) async throws -> String {
        // One with a secret names itself by that, and must not do so twice (RFC 6749 §2.3).
        let own = policy.clientSecret == nil ? policy.clientID : nil
        let form = Query.text([
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", policy.redirectURI),
            ("code_verifier", attempt.verifier), ("client_id", own),
        ]).dropFirst()
        let credentials = policy.clientSecret.map { secret in
            let pair = "\(policy.clientID.percentEncoded):\(secret.percentEncoded)"
            return "Basic \(Data(pair.utf8).base64EncodedString())"
        }
        let answer = try await ask(
            ProviderRequest(metadata.tokenEndpoint, form: String(form), authorization: credentials))
        let members: [JSONMember]
        if case .object(let read)? = try? JSONParser.parse(answer.body) { members = read } else { members = [] }
        guard answer.status == 200 else {
            let error = Self.error(members["error"])
            throw ProviderFault(
                description: "it answers \(answer.status) to the code" + (error.map { ": \($0)" } ?? ""),
                refusesCode: error == "invalid_grant")
        }
        guard case .string(let token)? = members["id_token"] else {
            throw ProviderFault(description: "it gives no ID token for the code")
        }
        return token
    }

    /// The code of an error, when it has the form of one (RFC 6749 §5.2).
    private static func error(_ value: JSONValue?) -> String? {
        guard case .string(let code)? = value else { return nil }
        return OpenIDAnswer.error(code)
    }

    /// What an ID token says, whose signature is checked (OpenID Connect Core 1.0 §3.1.3.7).
    func person(in token: SignedToken, of attempt: SignInAttempt) throws(TokenFault) -> Person {
        let claims = token.claims
        // What an access token says is meant for somebody else.
        guard !token.isAccessToken else { throw .malformed }
        guard case .string(let issuer)? = claims["iss"], issuer.utf8.elementsEqual(policy.issuer.utf8) else {
            throw .issuer
        }
        let audiences = claims.texts("aud") ?? []
        guard audiences.contains(where: isOurs) else { throw .audience }
        switch claims["azp"] {
        case nil where audiences.count == 1: break
        case .string(let party)? where isOurs(party): break
        default: throw .party
        }
        _ = try claims.end(at: now())
        guard claims["iat"] != nil else { throw .malformed }
        guard case .string(let nonce)? = claims["nonce"], nonce.utf8.elementsEqual(attempt.nonce.utf8) else {
            throw .nonce
        }
        guard case .string(let subject)? = claims["sub"], TokenSubject.allows(subject) else { throw .subject }
        return Person(
            subject: TokenSubject(issuer: issuer, subject: subject), role: policy.role(claims),
            tenant: try? claims.tenant(of: policy.owner))
    }

    private func isOurs(_ party: String) -> Bool { party.utf8.elementsEqual(policy.clientID.utf8) }
}
