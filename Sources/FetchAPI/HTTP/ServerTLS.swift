package import Logging
import NIOCertificateReloading
import NIOSSL

/// The certificate that the server shows, and the clients that it lets in (RFC 8446).
package struct ServerTLS: Sendable {
    /// The files that it is read from, in PEM.
    package struct Files: Sendable {
        /// The server's certificate, and those of its issuers behind it.
        package var certificates: String
        package var key: String
        /// The issuers of clients' certificates; nil when clients need none.
        package var clientIssuers: String?

        package init(certificates: String, key: String, clientIssuers: String? = nil) {
            self.certificates = certificates
            self.key = key
            self.clientIssuers = clientIssuers
        }
    }

    /// How often the files are read again.
    static let readInterval = Duration.seconds(10)

    /// For new connections; open ones keep what they were made with.
    let configuration: TLSConfiguration
    private let reloader: TimedCertificateReloader

    /// - Parameter onChange: Called when the certificate was read again and is another one.
    /// - Throws: An error that says which file cannot be used and why, and nothing of its content.
    package init(_ files: Files, logger: Logger, onChange: @escaping @Sendable () -> Void = {}) throws {
        reloader = try TimedCertificateReloader.makeReloaderValidatingSources(
            configuration: .init(
                refreshInterval: Self.readInterval,
                certificateSource: .init(location: .file(path: files.certificates), format: .pem),
                privateKeySource: .init(location: .file(path: files.key), format: .pem)
            ) { configuration in
                configuration.onCertificateLoaded = { change in
                    guard let before = change.previousCertificateChain, before != change.currentCertificateChain
                    else { return }
                    logger.notice(
                        "The certificate was read again", metadata: ["tls.certificate": "\(files.certificates)"])
                    onChange()
                }
                configuration.onCertificateLoadFailed = { failure in
                    logger.error(
                        "The certificate cannot be read again; the one before stays",
                        metadata: ["tls.certificate": "\(files.certificates)", "error": "\(failure.error)"])
                }
            })
        var configuration =
            if let issuers = files.clientIssuers {
                try TLSConfiguration.makeServerConfigurationWithMTLS(
                    certificateReloader: reloader, trustRoots: .file(issuers))
            } else {
                try TLSConfiguration.makeServerConfiguration(certificateReloader: reloader)
            }
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2", "http/1.1"]
        self.configuration = configuration
        // Whether all of it can be used is known when it is.
        _ = try NIOSSLContext(configuration: configuration)
    }

    /// Reads certificate and key again, until the service stops.
    func run() async throws { try await reloader.run() }
}
