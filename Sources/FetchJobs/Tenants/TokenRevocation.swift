/// JSON Web Tokens that an operator has revoked before they expire.
package struct TokenRevocation: Sendable, Equatable {
    package enum Kind: IdentifierKind {
        package static let prefix = "rev"
    }

    package typealias ID = Identifier<Kind>

    /// Which tokens are refused.
    package enum Target: Sendable, Equatable {
        /// The one with this `jti`.
        case token(String)
        /// All with this `sub` that were issued before, or do not say when.
        case subject(String)

        /// The longest that it may be, in bytes.
        package static let maximumLength = 256
    }

    /// How much later than the revocation a token may say that it was issued, and still be refused, in seconds: the clock
    /// of the issuer is another one.
    package static let leeway: Int64 = 60

    package let id: ID
    package let target: Target
    package let revokedAt: Timestamp

    package init(id: ID, target: Target, revokedAt: Timestamp) {
        self.id = id
        self.target = target
        self.revokedAt = revokedAt
    }
}

/// What a revocation finds a token by.
package struct TokenIdentity: Sendable, Hashable {
    /// Its `jti`; nil for one that has none.
    package let id: String?
    /// Its `sub`.
    package let subject: String
    /// Its `iat`, in seconds; nil for one that does not say.
    package let issuedAt: Int64?

    package init(id: String?, subject: String, issuedAt: Int64?) {
        self.id = id
        self.subject = subject
        self.issuedAt = issuedAt
    }
}

/// The revocations of tokens, as all nodes know them.
package protocol TokenRevocationStore: Sendable {
    /// Whether a token is refused although its issuer has signed it.
    func isRevoked(_ token: TokenIdentity) async throws(StoreError) -> Bool

    /// Revokes a token, or those that a subject has by now; once more moves the time of the same revocation.
    func revoke(_ target: TokenRevocation.Target) async throws(StoreError) -> TokenRevocation

    /// The revocations behind an id, or from the start, the oldest first.
    func revocations(after id: TokenRevocation.ID?, limit: Int) async throws(StoreError) -> [TokenRevocation]

    /// Takes a revocation back.
    ///
    /// - Returns: Whether there was one.
    func restore(_ id: TokenRevocation.ID) async throws(StoreError) -> Bool
}

// MARK: JSON

extension TokenRevocation.Target {
    /// Reads `{"jti": …}` or `{"sub": …}`.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["jti", "sub"])
        let (token, subject) = (object?["jti"], object?["sub"])
        let text = (token ?? subject)?.claim()
        try check.finish()
        guard let text, (token == nil) != (subject == nil) else {
            throw InvalidInput(pointer: "", message: "must have either \"jti\" or \"sub\"")
        }
        self = token == nil ? .subject(text) : .token(text)
    }

    /// The claim that it is about, and its value.
    package var claim: (name: String, value: String) {
        switch self {
        case .token(let id): ("jti", id)
        case .subject(let subject): ("sub", subject)
        }
    }
}

extension TokenRevocation {
    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member(target.claim.name, target.claim.value)
        writer.member("revokedAt", revokedAt.description)
    }
}

extension JSONReader {
    fileprivate func claim() -> String? {
        guard let text = string(maximumLength: TokenRevocation.Target.maximumLength) else { return nil }
        if text.isEmpty { refuse("must have a character") }
        return text
    }
}
