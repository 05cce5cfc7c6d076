import COpenSSL
import Glibc

/// Files for TLS to a syslog receiver (RFC 5425).
///
/// They are read for each batch, so that new ones need no restart.
package struct SyslogTLS: Sendable, Equatable {
    /// A file that cannot be used, and why.
    package struct Fault: Error, Sendable, Equatable {
        package enum File: Sendable {
            case issuers
            case certificate
            case key
        }

        package let file: File
        package let reason: String
    }

    /// The issuers of receivers' certificates, in PEM; nil for the system's.
    package var issuers: String?
    /// What the receiver is shown when it asks, in PEM: a certificate and its issuers'; nil for none.
    package var certificate: String?
    /// The private key of that, in PEM, not encrypted.
    package var key: String?

    package init(issuers: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.issuers = issuers
        self.certificate = certificate
        self.key = key
    }

    /// Reads the files.
    package func check() throws(Fault) { SSL_CTX_free(try context()) }

    /// What connections are made with: TLS 1.2 at least, and a certificate of the receiver that is verified.
    fileprivate func context() throws(Fault) -> OpaquePointer? {
        ERR_clear_error()
        let context = SSL_CTX_new(TLS_client_method())
        do throws(Fault) {
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            // Nobody is there who could be asked for the passphrase of a key.
            SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
            if let issuers {
                guard SSL_CTX_load_verify_file(context, issuers) == 1 else { throw Self.fault(.issuers) }
            } else {
                SSL_CTX_set_default_verify_paths(context)
            }
            if let certificate, let key {
                guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
                    throw Self.fault(.certificate)
                }
                guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1,
                    SSL_CTX_check_private_key(context) == 1
                else { throw Self.fault(.key) }
            }
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        return context
    }

    private static func fault(_ file: Fault.File) -> Fault { Fault(file: file, reason: lastReason) }

    /// What OpenSSL says of the last failure of this thread.
    fileprivate static var lastReason: String {
        defer { ERR_clear_error() }
        return ERR_reason_error_string(ERR_peek_last_error()).map { String(cString: $0) } ?? "unknown"
    }
}

/// One TLS connection to a receiver, over bytes that somebody else carries.
///
/// It works on memory, not on the socket: OpenSSL would write there in a way that ends the process when the peer is gone.
/// It is used by one thread.
final class SyslogTLSConnection {
    /// The connection cannot go on.
    struct Failure: Error {
        let reason: String
    }

    private let connection: OpaquePointer?
    /// What has come from the receiver.
    private let received: OpaquePointer?
    /// What is to be sent to it.
    private let outgoing: OpaquePointer?

    /// - Parameter host: The name, or the address, that the receiver's certificate has to be for.
    init(to host: String, _ files: SyslogTLS) throws(Failure) {
        let context: OpaquePointer?
        do throws(SyslogTLS.Fault) { context = try files.context() } catch {
            throw Failure(reason: "the file of its \(error.file) cannot be used: \(error.reason)")
        }
        connection = SSL_new(context)
        SSL_CTX_free(context)
        (received, outgoing) = (BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
        SSL_set_bio(connection, received, outgoing)
        SSL_set_connect_state(connection)
        let rules = SSL_get0_param(connection)
        if X509_VERIFY_PARAM_set1_ip_asc(rules, host) != 1 {
            ERR_clear_error()
            SSL_set_hostflags(connection, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            guard SSL_set1_host(connection, host) == 1 else {
                throw Failure(reason: "it has no name for a certificate")
            }
            _ = host.withCString { name in
                SSL_ctrl(
                    connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
                    UnsafeMutableRawPointer(mutating: name))
            }
        }
    }

    deinit { SSL_free(connection) }

    /// Goes on with the handshake.
    ///
    /// - Returns: Whether it is complete; else more has to come from the receiver.
    func shakeHands() throws(Failure) -> Bool {
        ERR_clear_error()
        let result = SSL_connect(connection)
        if result == 1 { return true }
        return try isWaiting(result)
    }

    /// Encrypts bytes.
    func write(_ bytes: ArraySlice<UInt8>) throws(Failure) {
        guard !bytes.isEmpty else { return }
        ERR_clear_error()
        let count = bytes.withUnsafeBytes { SSL_write(connection, $0.baseAddress, Int32($0.count)) }
        guard Int(count) == bytes.count else { throw failure }
    }

    /// Says that nothing more comes.
    func close() {
        ERR_clear_error()
        SSL_shutdown(connection)
    }

    /// Takes what has come, and throws what a receiver says in it that refuses the connection.
    ///
    /// - Returns: Whether it says that nothing more comes.
    func take(_ bytes: ArraySlice<UInt8>) throws(Failure) -> Bool {
        feed(bytes)
        var rest = [UInt8](repeating: 0, count: 1024)
        while true {
            ERR_clear_error()
            let count = SSL_read(connection, &rest, Int32(rest.count))
            // A receiver has nothing to say.
            if count > 0 { continue }
            if SSL_get_error(connection, count) == SSL_ERROR_ZERO_RETURN { return true }
            _ = try isWaiting(count)
            return false
        }
    }

    /// Takes what has come, for the handshake.
    func feed(_ bytes: ArraySlice<UInt8>) {
        _ = bytes.withUnsafeBytes { BIO_write(received, $0.baseAddress, Int32($0.count)) }
    }

    /// Takes what is to be sent out.
    func nextBytes() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(outgoing)))
        let count = bytes.withUnsafeMutableBytes { BIO_read(outgoing, $0.baseAddress, Int32($0.count)) }
        return Array(bytes.prefix(max(0, Int(count))))
    }

    /// Always false: more has to come before what gave this result can go on.
    private func isWaiting(_ result: Int32) throws(Failure) -> Bool {
        guard SSL_get_error(connection, result) == SSL_ERROR_WANT_READ else { throw failure }
        return false
    }

    private var failure: Failure {
        let verdict = SSL_get_verify_result(connection)
        guard verdict == Int(X509_V_OK) else {
            ERR_clear_error()
            let reason = X509_verify_cert_error_string(verdict).map { String(cString: $0) } ?? "\(verdict)"
            return Failure(reason: "its certificate is refused: \(reason)")
        }
        return Failure(reason: "TLS: \(SyslogTLS.lastReason)")
    }
}
