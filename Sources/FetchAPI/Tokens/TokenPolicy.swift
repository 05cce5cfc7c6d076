package import FetchJobs

/// Which JSON Web Tokens are taken as bearer tokens: those of one issuer that are for this service (RFC 7519).
package struct TokenPolicy: Sendable {
    /// Whose a token is.
    package enum Owner: Sendable, Equatable {
        /// The tenant of this name, whatever the token says.
        case tenant(String)
        /// The tenant whose name is the value of this claim.
        case claim(String)
    }

    /// How far the clocks of the issuer and of this service may be apart.
    static let leeway: Int64 = 60

    /// What `iss` has to be.
    package var issuer: String
    /// What `aud` has to be or to have.
    package var audience: String
    package var owner: Owner
    /// The algorithms that signatures may have.
    package var algorithms = Set(TokenAlgorithm.allCases)
    /// The claim with the scopes: a text with spaces between them, or a list of texts.
    package var scopeClaim = "scope"
    /// The scopes that a token can have; others that it names are left out.
    package var scopes = Self.ordinary
    /// How old the issuer's keys become before they are read again.
    package var refreshInterval = Duration.seconds(600)

    /// What a tenant can do with what is its own, but for making keys: those would outlive the token.
    package static let ordinary = Set<Scope>.tenant.subtracting([.keys])

    package init(issuer: String, audience: String, owner: Owner) {
        self.issuer = issuer
        self.audience = audience
        self.owner = owner
    }
}

/// How a token is signed (RFC 7518 §3.1, RFC 8037, RFC 9864): with a private key, whose public key is enough to check it.
///
/// `none` and the algorithms with a shared secret are no cases of it, so that nothing takes them.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"
    /// The same with its curve said (RFC 9864).
    case ed25519 = "Ed25519"
}
