import FetchAPI
import FetchEngine
import FetchJobs
import FetchStorage
import FetchWorker
import Glibc
import Logging

/// TLS between this node and everybody else: the certificate that it shows clients is its own to other nodes too.
struct NodeTLS {
    /// Nil for a server without TLS.
    let server: ServerTLS?
    /// How other nodes are asked.
    let client: EngineNodeClient

    /// - Throws: An error that names the setting whose file cannot be used.
    init(_ settings: Settings, _ loop: TransferLoop, logger: Logger) throws(ExitError) {
        let makeSession = { @Sendable () throws in
            Session(configuration: try Self.configuration(settings), transferLoop: loop)
        }
        do {
            if let files = settings.tls { try Self.checkKeyFile(files.key, of: "SERVER_TLS_KEY") }
            let client = EngineNodeClient(session: try makeSession())
            self.client = client
            guard let files = settings.tls else {
                server = nil
                return
            }
            server = try ServerTLS(files, logger: logger) {
                do { client.use(try makeSession()) } catch {
                    logger.error(
                        "Other nodes are shown the certificate from before", metadata: ["error": "\(error)"])
                }
            }
        } catch let failure as Settings.Failure {
            throw ExitError(.configuration, "\(failure)")
        } catch {
            throw ExitError(.configuration, "SERVER_TLS_CERTIFICATE: \(error)")
        }
    }

    /// Refuses files for the syslog receiver that cannot be used: no entry would ever get there.
    static func checkSyslog(_ settings: Settings) throws(ExitError) {
        guard case .tls? = settings.auditSyslog else { return }
        let files = settings.auditSyslogFiles
        do {
            if let key = files.key { try checkKeyFile(key, of: "AUDIT_SYSLOG_KEY") }
            try files.check()
        } catch let fault as SyslogTLS.Fault {
            let (variable, path) =
                switch fault.file {
                case .issuers: ("AUDIT_SYSLOG_ISSUERS", files.issuers)
                case .certificate: ("AUDIT_SYSLOG_CERTIFICATE", files.certificate)
                case .key: ("AUDIT_SYSLOG_KEY", files.key)
                }
            throw ExitError(.configuration, "\(variable): \(path ?? "") cannot be used: \(fault.reason)")
        } catch {
            throw ExitError(.configuration, "\(error)")
        }
    }

    private static func configuration(_ settings: Settings) throws -> SessionConfiguration {
        var configuration = EngineNodeClient.sessionConfiguration
        if let path = settings.nodeIssuers {
            let pem = try read(path, of: "FETCHD_NODE_ISSUERS")
            guard pem.contains("-----BEGIN CERTIFICATE-----".utf8) else {
                throw Settings.Failure("FETCHD_NODE_ISSUERS", "\(path) has no certificate in PEM")
            }
            configuration.tls.anchors = .pem(pem)
        }
        if let files = settings.tls {
            configuration.tls.clientIdentity = try ClientIdentity(
                certificateChain: try read(files.certificates, of: "SERVER_TLS_CERTIFICATE"),
                privateKey: try read(files.key, of: "SERVER_TLS_KEY"))
        }
        return configuration
    }

    /// - Throws: An error that names the setting and the file.
    private static func read(_ path: String, of variable: String) throws -> [UInt8] {
        do { return try FileContents.bytes(of: path) } catch {
            throw Settings.Failure(variable, "\(path) cannot be read: \(error)")
        }
    }

    /// A private key is for those who run the service.
    private static func checkKeyFile(_ path: String, of variable: String) throws(Settings.Failure) {
        guard let status = FileStatus(path: path) else {
            throw Settings.Failure(variable, "\(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard !status.isOpenToAll else {
            throw Settings.Failure(
                variable, "\(path) may be read or written by every user: take that away (chmod o= \(path))")
        }
    }
}
