import COpenSSL
import Glibc

/// The contents of a certificate, for the decision whether to trust it.
package struct CertificateSummary: Sendable {
    /// Its subject and its issuer, as RFC 4514 writes names.
    package let subject: String
    package let issuer: String
    /// The beginning of its validity, in seconds since 1970; nil when it states none.
    package let notBefore: Int64?
    package let notAfter: Int64?
    /// The hosts and addresses that it is for (RFC 5280 §4.2.1.6), as OpenSSL prints them; nil when it names none.
    package let alternativeNames: String?
    package let publicKey: Fingerprint?
    package let pem: String

    /// - Parameter der: The bytes of a certificate; the result is nil for other bytes.
    package init?(der: [UInt8]) {
        let read = CertificateCoding.with(der) { certificate in
            (
                Self.text(of: X509_get_subject_name(certificate)), Self.text(of: X509_get_issuer_name(certificate)),
                Self.seconds(of: X509_get0_notBefore(certificate)), Self.seconds(of: X509_get0_notAfter(certificate)),
                Self.alternativeNames(of: certificate)
            )
        }
        guard let read else { return nil }
        (subject, issuer, notBefore, notAfter, alternativeNames) = read
        publicKey = CertificateCoding.publicKeyFingerprint(of: der)
        pem = String(decoding: CertificateCoding.pem(of: [der]), as: UTF8.self)
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name else { return "" }
        let bytes = CertificateCoding.writing { X509_NAME_print_ex($0, name, 0, copenssl_name_form()) >= 0 ? 1 : 0 }
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    private static func seconds(of time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> String? {
        let index = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)
        guard index >= 0, let named = X509_get_ext(certificate, index) else { return nil }
        let bytes = CertificateCoding.writing { X509V3_EXT_print($0, named, 0, 0) }
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
