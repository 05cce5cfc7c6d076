/// A secret that authenticates to a server, with its user.
///
/// It does not print.
///
/// ```swift
/// let login = Credential(user: "aladdin", password: "open sesame", persistence: .forSession)
/// let token = Credential(bearerToken: password)
/// let tickets = Credential(kerberosTicketsIn: nil)  // What `kinit` has left.
/// ```
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// How long it is kept.
    public enum Persistence: String, Sendable, Hashable, Codable, CaseIterable {
        /// For one request.
        case none
        /// As long as the session.
        case forSession
        /// In the persistent store.
        case permanent
        /// As `permanent`: there is no keychain here that other devices share.
        case synchronizable
    }

    /// The secret of the credential, stored apart so that a place for a credential is small.
    indirect enum Secret: Sendable, Hashable {
        case password(String)
        case bearerToken(String)
        case identity(ClientIdentity)
        case trust(ServerTrust)
        /// The Kerberos tickets of a cache; nil is the default cache of the process.
        case tickets(cache: String?)
        /// A file of Kerberos keys.
        case keytab(path: String)
        /// The content of one.
        case kerberosKeys([UInt8])
        case awsKeys(AWSKeys)
    }

    /// The user name; empty for a kind that names no user.
    ///
    /// For NTLM it may be `DOMAIN\user`, for Negotiate `user@REALM`.
    public let user: String
    /// How long it is kept.
    public let persistence: Persistence
    let secret: Secret

    /// Makes a credential of a user name and a password.
    public init(user: String, password: String, persistence: Persistence = .none) {
        self.user = user
        self.persistence = persistence
        secret = .password(password)
    }

    /// Makes a credential of a bearer token (RFC 6750).
    public init(bearerToken: String, persistence: Persistence = .none) {
        user = ""
        self.persistence = persistence
        secret = .bearerToken(bearerToken)
    }

    /// Makes a credential of an identity: the answer to a challenge for a client certificate.
    public init(identity: ClientIdentity, persistence: Persistence = .none) {
        user = ""
        self.persistence = persistence
        secret = .identity(identity)
    }

    /// Accepts the certificates of a server: the answer to a challenge of the method `serverTrust`.
    ///
    /// Exactly this chain is accepted, certificate for certificate, by the task that asked.
    public init(trust: ServerTrust) {
        user = ""
        persistence = .none
        secret = .trust(trust)
    }

    /// Makes a credential of the Kerberos tickets that are there already, as `kinit` leaves them.
    ///
    /// - Parameters:
    ///   - cache: The cache, as `FILE:/run/tickets`; nil is the default cache of the process.
    ///   - principal: The principal whose tickets of the cache are used, as `user@REALM`; empty for its default one.
    ///   - persistence: How long it is kept.
    public init(kerberosTicketsIn cache: String?, principal: String = "", persistence: Persistence = .none) {
        user = principal
        self.persistence = persistence
        secret = .tickets(cache: cache)
    }

    /// Makes a credential of a file of Kerberos keys; the tickets made with it are shared with no other credential.
    ///
    /// - Parameters:
    ///   - principal: The principal whose key of the file is used, as `user@REALM`.
    ///   - keytab: The path of the file.
    ///   - persistence: How long it is kept.
    public init(kerberosPrincipal principal: String, keytab: String, persistence: Persistence = .none) {
        user = principal
        self.persistence = persistence
        secret = .keytab(path: keytab)
    }

    /// Always the same text.
    public var description: String { "<redacted>" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The secret of an access key, and the scope of its signatures.
package struct AWSKeys: Sendable, Hashable {
    package let secretAccessKey: String
    /// Of credentials that are good for a while only.
    package let sessionToken: String?
    package let region: String
    package let service: String

    package init(secretAccessKey: String, sessionToken: String?, region: String, service: String) {
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.region = region
        self.service = service
    }
}

extension Credential {
    /// Makes a credential that requests are signed with, whose user is the access key's id.
    package init(accessKeyID: String, awsKeys: AWSKeys, persistence: Persistence = .none) {
        user = accessKeyID
        self.persistence = persistence
        secret = .awsKeys(awsKeys)
    }

    /// Makes a credential of the content of a file of Kerberos keys, of which nothing is written to a disk.
    ///
    /// - Parameter principal: The principal whose key of them is used, as `user@REALM`.
    package init(kerberosPrincipal principal: String, keys: [UInt8], persistence: Persistence = .none) {
        user = principal
        self.persistence = persistence
        secret = .kerberosKeys(keys)
    }

    private init(_ credential: Credential, persistence: Persistence) {
        user = credential.user
        self.persistence = persistence
        secret = credential.secret
    }

    /// The same, kept for another time.
    package func kept(_ persistence: Persistence) -> Credential { Credential(self, persistence: persistence) }

    package var awsKeys: AWSKeys? {
        if case .awsKeys(let keys) = secret { keys } else { nil }
    }

    package var kerberosKeys: [UInt8]? {
        if case .kerberosKeys(let keys) = secret { keys } else { nil }
    }

    /// The password; nil for a credential of another kind.
    ///
    /// For an ``AuthenticationScheme``; it belongs in no log.
    public var password: String? {
        if case .password(let password) = secret { password } else { nil }
    }

    package var identity: ClientIdentity? {
        if case .identity(let identity) = secret { identity } else { nil }
    }

    /// Whether it accepts this very chain.
    func accepts(_ shown: ServerTrust) -> Bool {
        if case .trust(let trust) = secret { trust.chainFingerprint == shown.chainFingerprint } else { false }
    }

    /// The bearer token; nil for a credential of another kind.
    public var bearerToken: String? {
        if case .bearerToken(let token) = secret { token } else { nil }
    }

    /// The user name and password of a URL, for one request, or nil when it has none.
    ///
    /// Those that are not UTF-8, or would be slow to compare with others, are none.
    package init?(userinfoOf url: URLRecord) {
        guard url.hasCredentials,
            let user = String(validating: percentDecoded(Array(url.username.utf8)[...]), as: UTF8.self),
            let password = String(validating: percentDecoded(Array(url.password.utf8)[...]), as: UTF8.self),
            user.unicodeScalars.isStreamSafe, password.unicodeScalars.isStreamSafe
        else { return nil }
        self.init(user: user, password: password)
    }

    /// Whether this can be said in a scheme at all.
    ///
    /// No text may have control characters, and the user name no colon where a colon ends it (RFC 7617 §2).
    package func fits(_ method: ProtectionSpace.Method) -> Bool {
        switch (method, secret) {
        case (.httpBasic, .password(let password)):
            Self.isPrintable(user) && Self.isPrintable(password) && !user.utf8.contains(UInt8(ascii: ":"))
        case (.default, .password(let password)), (.httpDigest, .password(let password)),
            (.ntlm, .password(let password)), (.negotiate, .password(let password)):
            Self.isPrintable(user) && Self.isPrintable(password)
        case (.httpBearer, .bearerToken(let token)): Self.isToken68(token)
        case (.negotiate, .tickets), (.negotiate, .keytab), (.negotiate, .kerberosKeys), (.awsSigV4, .awsKeys): true
        default: false
        }
    }

    private static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    private static func isToken68(_ text: String) -> Bool {
        let body = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }
        return !body.isEmpty && body.allSatisfy(\.isToken68)
    }
}
