import COpenSSL

/// Certificates between OpenSSL's objects, DER and PEM.
enum CertificateCoding {
    /// The DER form of a certificate.
    static func der(of certificate: OpaquePointer) -> [UInt8] { encoded { i2d_X509(certificate, $0) } }

    /// The DER form of a distinguished name.
    static func der(ofName name: OpaquePointer) -> [UInt8] { encoded { i2d_X509_NAME(name, $0) } }

    /// The certificates of a chain of OpenSSL's, in its order.
    static func der(ofAll chain: OpaquePointer?) -> [[UInt8]] {
        (0..<copenssl_certificate_count(chain)).compactMap { copenssl_certificate(chain, $0).map(der(of:)) }
    }

    /// Reads the certificates in a PEM text; other blocks are skipped.
    static func certificates(inPEM text: [UInt8]) -> [[UInt8]] {
        defer { ERR_clear_error() }
        return reading(text) { memory in
            var certificates: [[UInt8]] = []
            while let certificate = PEM_read_bio_X509(memory, nil, noPassphrase, nil) {
                certificates.append(der(of: certificate))
                X509_free(certificate)
            }
            return certificates
        } ?? []
    }

    /// The PEM text of certificates.
    static func pem(of certificates: [[UInt8]]) -> [UInt8] {
        certificates.flatMap { certificate in
            with(certificate) { certificate in writing { PEM_write_bio_X509($0, certificate) } ?? [] } ?? []
        }
    }

    /// The SHA-256 digest of a certificate's public key (RFC 7469 §2.4), or nil when it is no certificate.
    static func publicKeyFingerprint(of certificate: [UInt8]) -> Fingerprint? {
        with(certificate) { certificate in
            Fingerprint(of: encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) })
        }
    }

    /// The DER form of the issuer's name, or nil when it is no certificate.
    static func issuer(of certificate: [UInt8]) -> [UInt8]? {
        with(certificate) { certificate in X509_get_issuer_name(certificate).map(der(ofName:)) } ?? nil
    }

    /// The digest of a server's certificate to which authentication is bound (RFC 5929 §4.1); nil where its signature has
    /// none.
    static func endPoint(of certificate: OpaquePointer) -> [UInt8]? {
        var number: Int32 = 0
        guard X509_get_signature_info(certificate, &number, nil, nil, nil) == 1 else { return nil }
        let isWeak = number == NID_md5 || number == NID_sha1
        guard let method = isWeak ? EVP_sha256() : EVP_get_digestbyname(OBJ_nid2sn(number)) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(certificate, method, &digest, &count) == 1 else { return nil }
        return Array(digest.prefix(Int(count)))
    }

    // MARK: OpenSSL's objects

    /// Calls with OpenSSL's object for a certificate in DER; nil when the bytes are no certificate.
    static func with<Result>(_ certificate: [UInt8], _ body: (OpaquePointer) -> Result) -> Result? {
        defer { ERR_clear_error() }
        return certificate.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let object = d2i_X509(nil, &position, bytes.count) else { return nil }
            defer { X509_free(object) }
            return body(object)
        }
    }

    /// Calls with a source of OpenSSL's that reads the bytes.
    static func reading<Result>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
        bytes.withUnsafeBytes { bytes in
            guard let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(memory) }
            return body(memory)
        }
    }

    /// The output of a writer of OpenSSL; nil when it failed.
    static func writing(_ body: (OpaquePointer) -> Int32) -> [UInt8]? {
        guard let memory = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(memory) }
        guard body(memory) == 1 else { return nil }
        var start: UnsafeMutablePointer<CChar>?
        let count = copenssl_memory(memory, &start)
        guard let start, count > 0 else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        let length = encode(nil)
        guard length > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var position = buffer.baseAddress
            count = Int(encode(&position))
        }
    }
}

/// Keeps OpenSSL from asking for a passphrase on the terminal.
func noPassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }
