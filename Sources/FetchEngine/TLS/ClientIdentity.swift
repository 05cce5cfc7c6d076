import COpenSSL

/// A certificate with its private key, by which a client shows a server who it is.
///
/// It does not print. Two identities are the same when their certificates are.
public struct ClientIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The certificates as DER: the client's own first, then those between it and its root, if any.
    public var certificates: [[UInt8]] { material.certificates }

    /// The digest of the client's own certificate.
    public var fingerprint: Fingerprint { material.fingerprint }

    /// The distinguished names of those who issued them, as DER and in their order.
    public var issuers: [[UInt8]] { certificates.compactMap(CertificateCoding.issuer) }

    let material: Material

    /// The certificates as PEM.
    package var certificateChainPEM: [UInt8] { material.chain }

    /// The private key as PEM, not encrypted.
    package var privateKeyPEM: [UInt8] { material.withKey { Array($0) } }

    /// Reads an identity from PEM.
    ///
    /// - Parameters:
    ///   - certificateChain: The client's certificate and those between it and its root, in this order.
    ///   - privateKey: The private key that belongs to the first certificate.
    ///   - passphrase: The passphrase of the key, if it is encrypted.
    /// - Throws: `clientIdentityInvalid` when there is no certificate, the key cannot be read, or the two do not belong
    ///   together; `clientIdentityTooCostly` when to decrypt or to use the key takes more work than it may.
    public init(certificateChain: [UInt8], privateKey: [UInt8], passphrase: String? = nil) throws(LoadError) {
        defer { ERR_clear_error() }
        let certificates = CertificateCoding.certificates(inPEM: certificateChain)
        guard !certificates.isEmpty else { throw Self.invalid("It has no certificate.") }
        if passphrase != nil { try DerivationWork.check(pem: privateKey) }
        guard let key = Self.key(inPEM: privateKey, passphrase: passphrase) else {
            throw Self.invalid("Its private key cannot be read.")
        }
        defer { EVP_PKEY_free(key) }
        material = try Material(certificates: certificates, key: key)
    }

    /// Reads an identity from a PKCS #12 file.
    ///
    /// - Throws: `clientIdentityInvalid` when the file cannot be read with the passphrase, or has no certificate with
    ///   its key; `clientIdentityTooCostly` when to decrypt it or to use its key takes more work than it may. Files
    ///   encrypted with RC2, as tools of before 2022 made them, cannot be read.
    public init(pkcs12: [UInt8], passphrase: String) throws(LoadError) {
        defer { ERR_clear_error() }
        try DerivationWork.check(pkcs12: pkcs12, passphrase: passphrase)
        let parts = CertificateCoding.reading(pkcs12) { memory in Self.parse(memory, passphrase) }
        guard let parts else { throw Self.invalid("It cannot be read with this passphrase.") }
        defer { EVP_PKEY_free(parts.key) }
        material = try Material(certificates: parts.certificates, key: parts.key)
    }

    /// Whether the identity leads to one of these issuers: those a server names when it asks for a certificate.
    ///
    /// - Parameter issuers: Distinguished names as DER; none means that any issuer will do.
    public func isIssued(byOneOf issuers: [[UInt8]]) -> Bool {
        guard !issuers.isEmpty else { return true }
        return self.issuers.contains(where: issuers.contains)
    }

    /// Whether both have the same certificates.
    public static func == (left: Self, right: Self) -> Bool { left.certificates == right.certificates }

    /// Hashes the certificates.
    public func hash(into hasher: inout Hasher) { hasher.combine(material.fingerprint) }

    /// Always the same text.
    public var description: String { "<redacted>" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ClientIdentity {
    /// The parts of an identity, in the form that libcurl takes.
    final class Material: Sendable {
        /// Signing with a longer key would delay other connections: its time grows with the third power of the length.
        static let maximumKeyBits = 8192

        let certificates: [[UInt8]]
        let fingerprint: Fingerprint
        /// The certificates as PEM.
        let chain: [UInt8]
        // Where the key lies as PEM, not encrypted: memory of its own, because an array could be copied by anyone, kept
        // as a number, because pointers are not Sendable. Nobody writes there before the end.
        private let keyAddress: UInt
        private let keyCount: Int

        init(certificates: [[UInt8]], key: OpaquePointer) throws(LoadError) {
            let fits = CertificateCoding.with(certificates[0]) { X509_check_private_key($0, key) == 1 } ?? false
            guard fits else { throw ClientIdentity.invalid("Its key is not that of its certificate.") }
            guard EVP_PKEY_get_bits(key) <= Self.maximumKeyBits else {
                throw LoadError(
                    .clientIdentityTooCostly, "The client's key has more than \(Self.maximumKeyBits) bits.")
            }
            guard let bytes = Self.copy(of: key) else { throw ClientIdentity.invalid("Its key cannot be written.") }
            self.certificates = certificates
            keyAddress = UInt(bitPattern: bytes.baseAddress)
            keyCount = bytes.count
            fingerprint = Fingerprint(of: certificates[0])
            chain = CertificateCoding.pem(of: certificates)
        }

        deinit {
            guard let start = UnsafeMutableRawPointer(bitPattern: keyAddress) else { return }
            OPENSSL_cleanse(start, keyCount)
            start.deallocate()
        }

        /// Calls with the private key as PEM.
        func withKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            body(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: keyAddress), count: keyCount))
        }

        private static func copy(of key: OpaquePointer) -> UnsafeMutableRawBufferPointer? {
            guard let memory = BIO_new(BIO_s_secmem()) else { return nil }
            defer { BIO_free(memory) }
            var start: UnsafeMutablePointer<CChar>?
            guard PEM_write_bio_PrivateKey(memory, key, nil, nil, 0, noPassphrase, nil) == 1,
                case let count = copenssl_memory(memory, &start), let start, count > 0
            else { return nil }
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: start, count: count))
            OPENSSL_cleanse(start, count)
            return bytes
        }
    }

    fileprivate static func invalid(_ reason: String) -> LoadError {
        LoadError(.clientIdentityInvalid, "The client identity cannot be used. \(reason)")
    }

    private static func key(inPEM text: [UInt8], passphrase: String?) -> OpaquePointer? {
        CertificateCoding.reading(text) { memory in
            guard let passphrase else { return PEM_read_bio_PrivateKey(memory, nil, noPassphrase, nil) }
            return passphrase.withCString { passphrase in
                // Without a callback OpenSSL takes the context as the passphrase.
                PEM_read_bio_PrivateKey(memory, nil, nil, UnsafeMutableRawPointer(mutating: passphrase))
            }
        }
    }

    private static func parse(
        _ memory: OpaquePointer, _ passphrase: String
    ) -> (certificates: [[UInt8]], key: OpaquePointer)? {
        guard let file = d2i_PKCS12_bio(memory, nil) else { return nil }
        defer { PKCS12_free(file) }
        var (key, certificate, others): (OpaquePointer?, OpaquePointer?, OpaquePointer?)
        guard PKCS12_parse(file, passphrase, &key, &certificate, &others) == 1 else { return nil }
        defer {
            X509_free(certificate)
            copenssl_free_certificates(others)
        }
        guard let key, let certificate else {
            EVP_PKEY_free(key)
            return nil
        }
        return ([CertificateCoding.der(of: certificate)] + CertificateCoding.der(ofAll: others), key)
    }
}

extension LoadError.Code {
    /// A client identity cannot be read, or its key is not that of its certificate.
    public static let clientIdentityInvalid = Self("clientIdentityInvalid", -1206)
    /// To decrypt the key of a client identity, or to sign with it, takes more work than it may.
    public static let clientIdentityTooCostly = Self("clientIdentityTooCostly", -1206)
}
