/// The certificate chain of a server, and the engine's verdict on it.
public struct ServerTrust: Sendable, Hashable {
    /// The result of verification.
    public enum Verdict: Sendable, Hashable {
        /// A known authority vouches for the certificate and its host.
        case trusted
        /// It is not trusted: the error with which the load ends unless a delegate accepts the chain, and the broken rule.
        case rejected(LoadError.Code, reason: String)
    }

    /// The host of the connection.
    public let host: String
    /// Its port.
    public let port: UInt16
    /// The certificates as the server sent them, DER, its own first.
    public let certificates: [[UInt8]]
    /// The engine's verdict on them.
    public let verdict: Verdict
    /// The TLS version, such as `TLSv1.3`.
    public let protocolVersion: String
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    public let cipherSuite: String

    /// Makes a trust, for example in a test of code that judges one.
    public init(
        host: String, port: UInt16, certificates: [[UInt8]], verdict: Verdict, protocolVersion: String = "",
        cipherSuite: String = ""
    ) {
        self.host = host
        self.port = port
        self.certificates = certificates
        self.verdict = verdict
        self.protocolVersion = protocolVersion
        self.cipherSuite = cipherSuite
    }

    /// The digest of the server's own certificate: what ``TLSConfiguration/acceptedCertificates`` compares with.
    public var fingerprint: Fingerprint { Fingerprint(of: certificates.first ?? []) }

    /// The digest of the public key of the server's own certificate: what ``PublicKeyPin`` compares with.
    public var publicKeyFingerprint: Fingerprint? {
        certificates.first.flatMap(CertificateCoding.publicKeyFingerprint)
    }

    var isTrusted: Bool { verdict == .trusted }

    /// The identity of an accepted chain: every certificate in it, in its order.
    public var chainFingerprint: Fingerprint { Fingerprint(ofAll: certificates) }
}
