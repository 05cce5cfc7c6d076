import Testing

@testable import FetchEngine

/// The named error of each failure of TLS.
@Suite struct TLSFailureTests {
    static let verdicts: [(Int, LoadError.Code?)] = [
        (0, nil), (9, .serverCertificateNotYetValid), (10, .serverCertificateHasBadDate),
        (18, .serverCertificateHasUnknownRoot), (19, .serverCertificateHasUnknownRoot),
        (20, .serverCertificateHasUnknownRoot), (21, .serverCertificateHasUnknownRoot),
        (23, .serverCertificateUntrusted), (62, .serverCertificateUntrusted), (64, .serverCertificateUntrusted),
        (9999, .serverCertificateUntrusted),
    ]

    @Test(arguments: verdicts)
    func `a verdict of verification has its code`(_ number: Int, _ code: LoadError.Code?) {
        #expect(TLSFailure.code(verification: number) == code)
    }

    @Test func `an alert about a certificate means ours when the server asked for one`() {
        #expect(TLSFailure.code(alert: 48, wasAsked: true, hadIdentity: true) == .clientCertificateRejected)
        #expect(TLSFailure.code(alert: 42, wasAsked: true, hadIdentity: false) == .clientCertificateRequired)
        #expect(TLSFailure.code(alert: 42, wasAsked: false, hadIdentity: false) == .secureConnectionFailed)
        #expect(TLSFailure.code(alert: 116, wasAsked: true, hadIdentity: false) == .clientCertificateRequired)
        #expect(TLSFailure.code(alert: 40, wasAsked: true, hadIdentity: false) == .clientCertificateRequired)
        #expect(TLSFailure.code(alert: 40, wasAsked: false, hadIdentity: false) == .secureConnectionFailed)
        #expect(TLSFailure.code(alert: 70, wasAsked: false, hadIdentity: false) == .secureConnectionFailed)
        #expect(TLSFailure.code(alert: 0, wasAsked: true, hadIdentity: false) == nil)
    }
}
