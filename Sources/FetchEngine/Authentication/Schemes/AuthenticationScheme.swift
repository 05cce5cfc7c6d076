/// A scheme of HTTP authentication (RFC 9110 §11) that answers a challenge with one header field.
///
/// A session uses those of ``AuthenticationConfiguration/schemes`` and the built-in ones. ``BasicScheme`` and
/// ``BearerScheme`` are of this kind; Digest, NTLM and Negotiate, which keep state between requests, are part of the
/// engine.
///
/// ```swift
/// /// Proves that it knows a key without sending it: the server's nonce, joined with the key by a hash.
/// struct KeyedScheme: AuthenticationScheme {
///     let name = "keyed"
///     let hash: @Sendable (String) -> String
///
///     func accepts(_ credential: Credential) -> Bool { credential.password != nil }
///
///     func authorization(
///         for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
///     ) async -> String? {
///         guard let nonce = challenge?.text("nonce"), let key = credential.password else { return nil }
///         return "Keyed id=\(credential.user), proof=\(hash(nonce + key))"
///     }
/// }
///
/// var configuration = SessionConfiguration()
/// configuration.authentication.schemes = [KeyedScheme(hash: sha256)]
/// ```
public protocol AuthenticationScheme: Sendable {
    /// The name of the scheme in challenges, in lower case, such as `basic`: a token (RFC 9110 §5.6.2).
    var name: String { get }

    /// The method of the protection spaces that the scheme answers for; by default the method that has its name.
    var method: ProtectionSpace.Method { get }

    /// Whether a credential that a server has accepted is sent to it again without a challenge, for URLs at or below
    /// the directory of the accepted one; false by default.
    ///
    /// ``authorization(for:answering:with:)`` then answers the server's latest challenge once more.
    var isPreemptive: Bool { get }

    /// Whether the scheme can express the credential; others are never given to it.
    func accepts(_ credential: Credential) -> Bool

    /// The value of the `Authorization` or `Proxy-Authorization` field: the name of the scheme, a space, and the rest.
    ///
    /// Called before each request, on the loop's thread: work that takes long belongs elsewhere. The load continues
    /// without the field for nil, and for a value that has control characters.
    ///
    /// - Parameters:
    ///   - request: The request that will carry the field, without it.
    ///   - challenge: The last challenge of the server; nil when it has sent none yet.
    ///   - credential: One that the scheme accepts.
    nonisolated(nonsending) func authorization(
        for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
    ) async -> String?
}

extension AuthenticationScheme {
    /// The method that has the name of the scheme.
    public var method: ProtectionSpace.Method { ProtectionSpace.Method(rawValue: name) }

    /// Waits for a challenge.
    public var isPreemptive: Bool { false }
}

/// Basic (RFC 7617): user name and password, as they are.
public struct BasicScheme: AuthenticationScheme {
    /// `basic`.
    public let name = "basic"
    /// `httpBasic`.
    public let method = ProtectionSpace.Method.httpBasic
    /// The password covers the URLs at or below the directory of the URL (RFC 7617 §2.2).
    public let isPreemptive = true

    /// Makes the scheme.
    public init() {}

    /// A user name and a password without control characters; the name has no colon, which ends it.
    public func accepts(_ credential: Credential) -> Bool { credential.fits(.httpBasic) }

    /// The user name, a colon and the password in Base64, as UTF-8.
    public nonisolated(nonsending) func authorization(
        for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
    ) async -> String? {
        guard accepts(credential), let password = credential.password else { return nil }
        let pair = Array("\(credential.user):\(password)".utf8)
        return "Basic " + String(decoding: Base64.encode(pair), as: UTF8.self)
    }
}

/// Bearer tokens (RFC 6750).
public struct BearerScheme: AuthenticationScheme {
    /// `bearer`.
    public let name = "bearer"
    /// `httpBearer`.
    public let method = ProtectionSpace.Method.httpBearer
    /// A token is sent wherever a password would be.
    public let isPreemptive = true

    /// Makes the scheme.
    public init() {}

    /// A bearer token that the grammar allows.
    public func accepts(_ credential: Credential) -> Bool { credential.fits(.httpBearer) }

    /// The token.
    public nonisolated(nonsending) func authorization(
        for request: Request, answering challenge: OfferedChallenge?, with credential: Credential
    ) async -> String? {
        accepts(credential) ? credential.bearerToken.map { "Bearer \($0)" } : nil
    }
}
