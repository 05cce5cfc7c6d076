import COpenSSL

/// The handshake of one TLS connection: its terms, the server's certificates, and its request for a certificate.
///
/// It belongs to the SSL_CTX that libcurl makes for each connection and lives as long: a server may ask for a
/// certificate when the transfer that made the connection is long over.
// @unchecked: everything here is touched on the loop's thread alone.
final class Handshake: @unchecked Sendable {
    /// The terms of the decision, known before the connection is made.
    struct Terms {
        /// The host the certificate must be for, in the form of URL records.
        var host: String
        var port: UInt16
        var trust = TrustRules()
        var revocationLists: RevocationLists?
        /// Whether there is an identity to show.
        var hasIdentity = false
        /// Whether a server that wants an identity is reason to stop and ask for one.
        var asksForIdentity = false
        /// Whether it is the proxy's certificate.
        var isProxy = false
    }

    let terms: Terms
    /// The chain of the server, when a delegate or a metric may need it.
    private(set) var trust: ServerTrust?
    /// Whether the handshake was failed because the delegate has to be asked about ``trust``.
    private(set) var isTrustUndecided = false
    /// The issuers the server named when it asked for a certificate; nil as long as it did not ask.
    private(set) var acceptableIssuers: [[UInt8]]?
    /// Whether it was failed because the delegate has to be asked for an identity.
    private(set) var isIdentityUndecided = false
    /// Whether the certificate has no `subjectAltName`, and failed for that.
    private(set) var lacksName = false
    /// The fatal alert that the server sent.
    private(set) var alert: UInt8?
    /// Whether the server has said that nothing follows (`close_notify`).
    private(set) var isEnded = false
    /// The proxy's, through whose connection the server's goes.
    private let outer: Handshake?
    private var connection: OpaquePointer?

    init(_ terms: Terms, through outer: Handshake? = nil) {
        self.terms = terms
        self.outer = outer?.terms.isProxy ?? false ? outer : nil
    }

    /// A connection that it made and those that it goes through, from the inside to the outside.
    func layers(upTo connection: OpaquePointer) -> [OpaquePointer] {
        [connection] + (outer?.connection.map { [$0] } ?? [])
    }

    /// The name of a failure that its certificate or its alert tells; nil when they tell nothing about it.
    ///
    /// - Parameter code: The code for libcurl's result. It may say only that the connection was lost when the alert
    ///   came after the handshake, as with TLS 1.3.
    func code(for code: LoadError.Code) -> LoadError.Code? {
        if lacksName, code == .serverCertificateUntrusted { return .serverCertificateHasNoName }
        let isVague: Set<LoadError.Code> = [
            .secureConnectionFailed, .networkConnectionLost, .clientCertificateRejected, .clientCertificateRequired,
        ]
        guard let alert, !terms.isProxy, isVague.contains(code) else { return nil }
        return TLSFailure.code(alert: alert, wasAsked: acceptableIssuers != nil, hadIdentity: terms.hasIdentity)
    }

    // MARK: Requests of OpenSSL

    /// Judges the certificate; false fails the handshake.
    func verify(_ verification: OpaquePointer) -> Bool {
        if terms.trust.canOverride, terms.trust.accepts(shown(verification, .trusted)) {
            X509_STORE_CTX_set_error(verification, X509_V_OK)
            return true
        }
        setTerms(of: verification)
        let isVerified = X509_verify_cert(verification) == 1
        let error = X509_STORE_CTX_get_error(verification)
        lacksName = !isVerified && Self.lacksName(verification, error)
        guard terms.trust.question != .nobody else { return isVerified }
        let trust = shown(verification, isVerified ? .trusted : rejection(error))
        self.trust = trust
        switch terms.trust.decide(trust) {
        case .accept: return true
        case .reject: return false
        case .ask:
            isTrustUndecided = true
            if isVerified { X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION) }
            return false
        }
    }

    /// Notes that the server wants a certificate; false fails the handshake.
    func certificateRequested(by connection: OpaquePointer) -> Bool {
        let names = SSL_get0_peer_CA_list(connection)
        acceptableIssuers = (0..<copenssl_name_count(names)).compactMap {
            copenssl_name(names, $0).map(CertificateCoding.der(ofName:))
        }
        guard terms.asksForIdentity, !terms.hasIdentity else { return true }
        isIdentityUndecided = true
        return false
    }

    func began(_ connection: OpaquePointer) { self.connection = connection }

    /// Notes an alert of the server's.
    func alerted(isFatal: Bool, _ number: UInt8) {
        if !isFatal, number == 0 { isEnded = true } else if alert == nil { alert = number }
    }

    private func setTerms(of verification: OpaquePointer) {
        guard let parameters = X509_STORE_CTX_get0_param(verification) else { return }
        if let address = IPAddress(host: terms.host) {
            X509_VERIFY_PARAM_set1_ip_asc(parameters, address.description)
        } else {
            let host = terms.host.hasSuffix(".") ? String(terms.host.dropLast()) : terms.host
            X509_VERIFY_PARAM_set_hostflags(
                parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count)
        }
        terms.revocationLists?.with { lists in
            X509_STORE_CTX_set0_crls(verification, lists)
            X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
            X509_STORE_CTX_set_verify_cb(verification, passUnlisted)
        }
    }

    private func shown(_ verification: OpaquePointer, _ verdict: ServerTrust.Verdict) -> ServerTrust {
        let connection = copenssl_connection_of(verification)
        let cipher = connection.flatMap { SSL_get_pending_cipher($0) ?? SSL_get_current_cipher($0) }
        return ServerTrust(
            host: terms.host, port: terms.port,
            certificates: CertificateCoding.der(ofAll: X509_STORE_CTX_get0_untrusted(verification)), verdict: verdict,
            protocolVersion: connection.map { String(cString: SSL_get_version($0)) } ?? "",
            cipherSuite: cipher.map { String(cString: SSL_CIPHER_get_name($0)) } ?? "")
    }

    /// Whether a certificate that is not for the host names no host at all: its common name does not count (RFC 9525
    /// §4).
    private static func lacksName(_ verification: OpaquePointer, _ error: Int32) -> Bool {
        guard [X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH].contains(error) else { return false }
        return X509_get_ext_by_NID(X509_STORE_CTX_get0_cert(verification), NID_subject_alt_name, -1) < 0
    }

    private func rejection(_ error: Int32) -> ServerTrust.Verdict {
        let code = TLSFailure.code(verification: Int(error)) ?? .serverCertificateUntrusted
        return .rejected(
            lacksName ? .serverCertificateHasNoName : code,
            reason: String(cString: X509_verify_cert_error_string(Int(error))))
    }
}

extension Handshake {
    /// Where an SSL_CTX keeps its handshake.
    private static let index = copenssl_new_context_index(releaseHandshake)

    /// Makes OpenSSL ask this handshake about the connections of a context, which then owns it.
    ///
    /// Returns false when that could not be done; such a context must not be used.
    func attach(to context: OpaquePointer) -> Bool {
        let pointer = Unmanaged.passRetained(self).toOpaque()
        guard SSL_CTX_set_ex_data(context, Self.index, pointer) == 1 else {
            Unmanaged<Handshake>.fromOpaque(pointer).release()
            return false
        }
        SSL_CTX_set_cert_verify_callback(context, verifyServer, pointer)
        SSL_CTX_set_cert_cb(context, chooseCertificate, pointer)
        SSL_CTX_set_info_callback(context, stateChanged)
        return true
    }

    /// The handshake that made a connection.
    static func of(_ connection: OpaquePointer) -> Handshake? {
        SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), index).map(at)
    }

    fileprivate static func at(_ pointer: UnsafeMutableRawPointer) -> Handshake {
        Unmanaged<Handshake>.fromOpaque(pointer).takeUnretainedValue()
    }
}

// MARK: Callbacks of OpenSSL

private func verifyServer(_ verification: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let verification, let context else { return 0 }
    return Handshake.at(context).verify(verification) ? 1 : 0
}

private func chooseCertificate(_ connection: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let connection, let context else { return 0 }
    return Handshake.at(context).certificateRequested(by: connection) ? 1 : 0
}

private func stateChanged(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
    guard let connection else { return }
    if place & SSL_CB_HANDSHAKE_START != 0 { Handshake.of(connection)?.began(connection) }
    guard place & SSL_CB_ALERT != 0, place & SSL_CB_READ != 0 else { return }
    Handshake.of(connection)?.alerted(isFatal: value >> 8 == 2, UInt8(truncatingIfNeeded: value))
}

/// Accepts a certificate for whose issuer there is no list.
private func passUnlisted(_ isFine: Int32, _ verification: OpaquePointer?) -> Int32 {
    guard isFine == 0, X509_STORE_CTX_get_error(verification) == X509_V_ERR_UNABLE_TO_GET_CRL else { return isFine }
    X509_STORE_CTX_set_error(verification, X509_V_OK)
    return 1
}

private func releaseHandshake(
    _ parent: UnsafeMutableRawPointer?, _ pointer: UnsafeMutableRawPointer?,
    _ data: UnsafeMutablePointer<CRYPTO_EX_DATA>?, _ index: Int32, _ number: Int, _ argument: UnsafeMutableRawPointer?
) {
    if let pointer { Unmanaged<Handshake>.fromOpaque(pointer).release() }
}
