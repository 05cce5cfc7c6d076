/// What a credential answers for: compared by value.
public struct ProtectionSpace: Sendable, Hashable {
    /// How the server wants to be convinced, or to convince.
    public enum Method: String, Sendable, Hashable, Codable, CaseIterable {
        /// User name and password of a protocol that knows no schemes, such as FTP.
        case `default`
        /// RFC 7617.
        case httpBasic
        /// RFC 7616.
        case httpDigest
        /// RFC 6750.
        case httpBearer
        /// NTLM.
        case ntlm
        /// SPNEGO, Kerberos beneath it.
        case negotiate
        /// AWS Signature Version 4; never asked for by the engine, and signed by who makes the request.
        case awsSigV4
        /// A form in a page; never asked for by the engine.
        case htmlForm
        /// The server wants a certificate.
        case clientCertificate
        /// The server's certificate is to be judged.
        case serverTrust

        /// Whether it is about the connection rather than about a request.
        var isOfConnection: Bool { self == .clientCertificate || self == .serverTrust }

        /// Whether the session is asked before the task.
        public var isSessionLevel: Bool {
            switch self {
            case .ntlm, .negotiate, .clientCertificate, .serverTrust: true
            case .default, .httpBasic, .httpDigest, .httpBearer, .awsSigV4, .htmlForm: false
            }
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
        /// Do as though there were no delegate.
        case performDefaultHandling
        /// Try the next space or scheme that the server offers.
        case rejectProtectionSpace
        /// Go on without: the answer at hand is the result.
        case continueWithoutCredential
        /// End the load with `userCancelledAuthentication`.
        case cancelAuthenticationChallenge
    }

    /// What the credential has to answer for.
    public var protectionSpace: ProtectionSpace
    /// What was tried last in this space and failed, if anything.
    public var proposedCredential: Credential?
    /// How often authentication has failed in this task, in all spaces together.
    public var previousFailureCount: Int
    /// The answer that asks, if there is one.
    public var failureResponse: Response?
    /// Every space that was offered together with this one, strongest first.
    public var offeredSpaces: [ProtectionSpace] = []
    /// What the server showed and what the engine makes of it; `nil` unless the method is `serverTrust`.
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
