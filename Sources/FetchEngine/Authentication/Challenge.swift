/// The server or proxy, with realm and method, for which a credential is valid; compared by value.
public struct ProtectionSpace: Sendable, Hashable {
    /// How the server wants to be convinced, or to convince.
    ///
    /// An ``AuthenticationScheme`` of the program's own has a method of its own name.
    public struct Method: RawRepresentable, Sendable, Hashable, Codable, CaseIterable,
        CustomStringConvertible
    {
        /// The methods that the library itself knows.
        public static let allCases: [Method] = [
            .default, .httpBasic, .httpDigest, .httpBearer, .ntlm, .negotiate, .awsSigV4, .htmlForm,
            .clientCertificate, .serverTrust,
        ]

        /// The name of the method.
        public let rawValue: String

        /// Makes a method; methods of one name are the same.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the method.
        public var description: String { rawValue }

        /// User name and password of a protocol that knows no schemes, such as FTP.
        public static let `default` = Self(rawValue: "default")
        /// RFC 7617.
        public static let httpBasic = Self(rawValue: "httpBasic")
        /// RFC 7616.
        public static let httpDigest = Self(rawValue: "httpDigest")
        /// RFC 6750.
        public static let httpBearer = Self(rawValue: "httpBearer")
        /// NTLM.
        public static let ntlm = Self(rawValue: "ntlm")
        /// SPNEGO, with Kerberos.
        public static let negotiate = Self(rawValue: "negotiate")
        /// AWS Signature Version 4; never asked for by the engine, and signed by who makes the request.
        public static let awsSigV4 = Self(rawValue: "awsSigV4")
        /// A form in a page; never asked for by the engine.
        public static let htmlForm = Self(rawValue: "htmlForm")
        /// The server wants a certificate.
        public static let clientCertificate = Self(rawValue: "clientCertificate")
        /// A judgement of the server's certificate.
        public static let serverTrust = Self(rawValue: "serverTrust")

        /// Whether it is about the connection rather than about a request.
        var isOfConnection: Bool { self == .clientCertificate || self == .serverTrust }

        /// Whether the session is asked before the task.
        public var isSessionLevel: Bool {
            [.ntlm, .negotiate, .clientCertificate, .serverTrust].contains(self)
        }
    }

    /// The host.
    public var host: String
    /// The port.
    public var port: UInt16
    /// The scheme: `http`, `https`, `ftp`, or the proxy's kind.
    public var scheme: String
    /// The realm the server named, if any.
    public var realm: String?
    /// The method.
    public var method: Method
    /// Whether a proxy asks.
    public var isProxy: Bool

    /// Makes a space.
    public init(
        host: String, port: UInt16, scheme: String, realm: String? = nil, method: Method, isProxy: Bool = false
    ) {
        self.host = host
        self.port = port
        self.scheme = scheme
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }
}

/// A question about authentication or trust.
public struct Challenge: Sendable {
    /// The answer to a challenge.
    public enum Disposition: Sendable {
        /// Try again with this credential.
        case useCredential(Credential)
        /// Continue as without a delegate.
        case performDefaultHandling
        /// Try the next space or scheme that the server offers.
        case rejectProtectionSpace
        /// Go on without: this response is the result.
        case continueWithoutCredential
        /// End the load with `userCancelledAuthentication`.
        case cancelAuthenticationChallenge
    }

    /// The protection space that the credential is for.
    public var protectionSpace: ProtectionSpace
    /// The credential that failed last in this space, if any.
    public var proposedCredential: Credential?
    /// How often authentication has failed in this task, in all spaces together.
    public var previousFailureCount: Int
    /// The answer that asks, if there is one.
    public var failureResponse: Response?
    /// Every space that was offered together with this one, strongest first.
    public var offeredSpaces: [ProtectionSpace] = []
    /// The chain of the server and the engine's verdict on it; `nil` unless the method is `serverTrust`.
    ///
    /// The answer that accepts it is `useCredential` with ``Credential/init(trust:)``.
    public var serverTrust: ServerTrust?
    /// The issuers that the server accepts, as DER, when the method is `clientCertificate`; none means any.
    public var acceptableIssuers: [[UInt8]] = []

    /// Makes a challenge.
    public init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential? = nil, previousFailureCount: Int = 0,
        failureResponse: Response? = nil
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.failureResponse = failureResponse
    }
}
