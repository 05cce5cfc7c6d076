/// The named errors of TLS.
enum TLSFailure {
    /// The error for a verdict of OpenSSL's on a certificate (`X509_V_ERR_*`); nil when it is fine.
    static func code(verification: Int) -> LoadError.Code? {
        switch verification {
        case 0: nil
        // Not yet valid: the certificate, or the revocation list that should vouch for it.
        case 9, 11: .serverCertificateNotYetValid
        case 10, 12: .serverCertificateHasBadDate
        // No issuer to be found, self-signed, a root that is not an anchor, a purpose that no anchor trusts.
        case 2, 18, 19, 20, 21, 27: .serverCertificateHasUnknownRoot
        default: .serverCertificateUntrusted
        }
    }

    /// The error for an alert of the server (RFC 8446 §6.2), or nil when it has none of its own.
    ///
    /// - Parameters:
    ///   - alert: The number of the fatal alert.
    ///   - wasAsked: Whether the server asked for a certificate.
    ///   - hadIdentity: Whether one was sent.
    static func code(alert: UInt8, wasAsked: Bool, hadIdentity: Bool) -> LoadError.Code? {
        switch alert {
        // bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown,
        // unknown_ca, access_denied, decrypt_error: a server's verdicts on a client's certificate.
        case 42, 43, 44, 45, 46, 48, 49, 51:
            guard wasAsked else { return .secureConnectionFailed }
            return hadIdentity ? .clientCertificateRejected : .clientCertificateRequired
        // certificate_required
        case 116: return hadIdentity ? .clientCertificateRejected : .clientCertificateRequired
        // handshake_failure: before TLS 1.3 the only way to say that a certificate is missing.
        case 40 where wasAsked && !hadIdentity: return .clientCertificateRequired
        // close_notify, user_canceled: no failure of TLS.
        case 0, 90: return nil
        default: return .secureConnectionFailed
        }
    }

    /// A sentence for each.
    static func message(for code: LoadError.Code) -> String {
        switch code {
        case .serverCertificateHasBadDate: "The certificate of the server has expired."
        case .serverCertificateNotYetValid: "The certificate of the server is not valid yet."
        case .serverCertificateHasUnknownRoot: "The certificate of the server was not issued by a known authority."
        case .serverCertificateHasNoName: "The certificate of the server has no subjectAltName: it is for no host."
        case .serverCertificateUntrusted: "The certificate of the server is not trusted for this host."
        case .clientCertificateRequired: "The server wants a client certificate."
        case .clientCertificateRejected: "The server refused the client certificate."
        default: "No secure connection could be made."
        }
    }
}
