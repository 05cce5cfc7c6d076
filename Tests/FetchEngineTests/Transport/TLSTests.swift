import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// TLS against OpenSSL's server.
@Suite struct TLSTests {
    private static func session(
        trusting origin: TLSOrigin?, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        if let origin { configuration.tls.anchors = .pem(origin.certificate) }
        change(&configuration)
        return Session(configuration: configuration)
    }

    private static func request(_ origin: TLSOrigin, host: String = "localhost") throws -> Request {
        Request(url: try URLRecord("https://\(host):\(origin.port)/"))
    }

    // Proves: BEY-1.
    @Test func `a server with a trusted certificate is loaded from, and version and cipher are told`() async throws {
        let origin = try TLSOrigin()
        let task = Self.session(trusting: origin).dataTask(with: try Self.request(origin))
        let response = try await task.response(bufferingUpTo: 1_000_000)
        #expect(response.status.code == 200)
        let transaction = try #require(task.metrics.transactions.first)
        #expect(transaction.negotiatedTLSProtocolVersion == "TLSv1.3")
        #expect(transaction.negotiatedTLSCipherSuite?.hasPrefix("TLS_") == true)
        #expect(transaction.certificates.first.flatMap { CertificateSummary(der: $0) }?.issuer.isEmpty == false)
        let connect = try #require(transaction.secureConnectionStart)
        #expect(try connect < #require(transaction.secureConnectionEnd))
        #expect(transaction.connectEnd == transaction.secureConnectionEnd)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a second connection goes on from the handshake of the first`(version: String) async throws {
        // It closes the connection after each answer.
        let origin = try TLSOrigin(options: [version])
        let session = Self.session(trusting: origin)
        var wereResumed: [Bool] = []
        for _ in 0..<2 {
            let task = session.dataTask(with: try Self.request(origin))
            _ = try await task.response(bufferingUpTo: 1_000_000)
            let transaction = try #require(task.metrics.transactions.first)
            #expect(!transaction.isReusedConnection)
            wereResumed.append(transaction.tlsSessionWasResumed)
        }
        #expect(wereResumed == [false, true])
    }

    // Proves: SEC-23.
    @Test func `a certificate that nobody known has signed is refused`() async throws {
        let origin = try TLSOrigin()
        await expect(.serverCertificateHasUnknownRoot) {
            try await Self.session(trusting: nil).data(for: Self.request(origin))
        }
    }

    // Proves: SEC-23.
    @Test func `a certificate for another name is refused`() async throws {
        let origin = try TLSOrigin()
        await expect(.serverCertificateUntrusted) {
            try await Self.session(trusting: origin).data(for: Self.request(origin, host: "127.0.0.1"))
        }
    }

    // Proves: SEC-23.
    @Test func `an older version than the oldest accepted is refused`() async throws {
        let origin = try TLSOrigin(options: ["-tls1_2"])
        await expect(.secureConnectionFailed) {
            try await Self.session(trusting: origin) { $0.tls.minimumVersion = .tls13 }
                .data(for: Self.request(origin))
        }
        let (_, response) = try await Self.session(trusting: origin).data(for: Self.request(origin))
        #expect(response.status.code == 200)
    }

    // Proves: NET-9, SEC-21.
    @Test func `other trust makes another connection`() async throws {
        let origin = try TLSOrigin()
        var trusting = SessionConfiguration()
        trusting.tls.anchors = .pem(origin.certificate)
        let session = Session()
        let request = try Self.request(origin)
        let (_, response) = try await session.data(for: request, configuration: trusting)
        #expect(response.status.code == 200)
        await expect(.serverCertificateHasUnknownRoot) { try await session.data(for: request) }
    }
}
