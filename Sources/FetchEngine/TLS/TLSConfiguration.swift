/// TLS versions and trust.
///
/// Verification is always on.
public struct TLSConfiguration: Sendable, Hashable {
    /// A TLS version.
    public enum Version: Int, Sendable, Hashable, Codable, Comparable {
        /// TLS 1.2.
        case tls12 = 12
        /// TLS 1.3.
        case tls13 = 13

        /// Older before newer.
        public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
    }

    /// A protocol that ALPN (RFC 7301) agrees on.
    public enum ApplicationProtocol: String, Sendable, Hashable, Codable, CaseIterable {
        /// HTTP/2.
        case http2 = "h2"
        /// HTTP/1.1.
        case http1 = "http/1.1"
    }

    /// The authorities that are trusted for servers.
    public enum Anchors: Sendable, Hashable {
        /// The certificate bundle of the system.
        case system
        /// These certificates, as PEM text, and no others.
        case pem([UInt8])
    }

    /// The oldest version accepted; TLS 1.2.
    public var minimumVersion: Version = .tls12
    /// The newest version offered; `nil`, the default, is the newest there is.
    public var maximumVersion: Version?
    /// The protocols that are offered by ALPN; `nil`, the default: those of ``SessionConfiguration/httpVersion``.
    ///
    /// Without `http2` https is HTTP/1.1. With none the extension is left out. `http1` is offered beside `http2`
    /// whether it is named or not.
    public var applicationProtocols: [ApplicationProtocol]?
    /// The trusted authorities; the system's bundle by default.
    public var anchors: Anchors = .system
    /// Keys that servers must have, beside being trusted.
    ///
    /// A server that any pin is for must have one of the keys pinned for it, or the load fails with
    /// `serverCertificateUntrusted`.
    public var pins: [PublicKeyPin] = []
    /// Certificates accepted as they are, with any issuer, dates and names.
    ///
    /// This is the way to accept one self-signed certificate; another one of the same host is refused.
    public var acceptedCertificates: [AcceptedCertificate] = []
    /// The client certificate for the server of a task's first request, when it asks for one.
    ///
    /// No other server gets it, not after a redirect either.
    public var clientIdentity: ClientIdentity?
    /// The certificates that authorities have taken back; none by default.
    public var revocationLists: RevocationLists?
    /// Whether a server must staple its authority's statement that its certificate is still good (RFC 6961); false.
    public var requiresStapledStatus = false
    /// Whether delegates are asked about every server, and not only about those that are not trusted; false.
    ///
    /// A handshake cannot wait for an answer: each new chain costs a second one. Pins need no delegate.
    public var asksAboutTrustedServers = false

    /// Makes the defaults.
    public init() {}
}
