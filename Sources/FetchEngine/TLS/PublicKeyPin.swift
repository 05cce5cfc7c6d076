/// A public key that a server must have, in addition to a trusted chain.
public struct PublicKeyPin: Sendable, Hashable {
    /// The hosts it is for.
    public var hosts: HostPattern
    /// The digest of the public key, as RFC 7469 §2.4 takes it (`sha256/…`).
    public var fingerprint: Fingerprint

    /// Makes a pin.
    public init(_ hosts: HostPattern, _ fingerprint: Fingerprint) {
        self.hosts = hosts
        self.fingerprint = fingerprint
    }
}

/// A certificate that is accepted as it is, for example one that a server signed itself.
public struct AcceptedCertificate: Sendable, Hashable {
    /// The hosts it is accepted from.
    public var hosts: HostPattern
    /// The digest of the certificate.
    public var fingerprint: Fingerprint

    /// Accepts a certificate.
    public init(_ hosts: HostPattern, _ fingerprint: Fingerprint) {
        self.hosts = hosts
        self.fingerprint = fingerprint
    }
}
