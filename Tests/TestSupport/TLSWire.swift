import COpenSSL
import Glibc

/// TLS on a connection of a `WireOrigin`, from the server's side: bytes that are sent at once are one record.
package final class TLSWire {
    package enum Version { case tls12, tls13 }

    /// OpenSSL did not do a step.
    package struct Failure: Error {
        let step: String
    }

    private let context: OpaquePointer
    private let connection: OpaquePointer
    private var received: [UInt8] = []

    /// Shakes hands.
    package init(_ wire: WireConnection, _ leaf: TestAuthority.Leaf, _ version: Version) throws {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw Failure(step: "context") }
        self.context = context
        let number = Int(version == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, number, nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, number, nil)
        guard SSL_CTX_use_certificate_chain_file(context, leaf.certificatePath) == 1,
            SSL_CTX_use_PrivateKey_file(context, leaf.keyPath, SSL_FILETYPE_PEM) == 1,
            let connection = SSL_new(context)
        else {
            SSL_CTX_free(context)
            throw Failure(step: "certificate")
        }
        self.connection = connection
        SSL_set_fd(connection, wire.descriptor)
        // OpenSSL writes as to a file: on this thread, the connection's own, a peer that is gone is no signal.
        var signals = sigset_t()
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard SSL_accept(connection) == 1 else { throw Failure(step: "handshake") }
    }

    deinit {
        SSL_free(connection)
        SSL_CTX_free(context)
    }

    /// Takes the next request head with its empty line, or nil when the peer closed before one.
    package func receiveHead() -> String? {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n")?.upperBound {
                received.removeFirst(text[..<end].utf8.count)
                return String(text[..<end])
            }
            guard receiveMore() else { return nil }
        }
    }

    /// Takes exactly so many bytes.
    package func receive(_ count: Int) throws {
        while received.count < count { guard receiveMore() else { throw Failure(step: "read") } }
        received.removeFirst(count)
    }

    package func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard SSL_write(connection, bytes, Int32(bytes.count)) == bytes.count else { throw Failure(step: "write") }
    }

    /// Says that nothing follows.
    package func sendEnd() { SSL_shutdown(connection) }

    /// Sends one more ticket, as a server may at any time.
    package func sendTicket() throws {
        guard SSL_new_session_ticket(connection) == 1, SSL_do_handshake(connection) == 1 else {
            throw Failure(step: "ticket")
        }
    }

    private func receiveMore() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = SSL_read(connection, &buffer, Int32(buffer.count))
        if count > 0 { received += buffer[..<Int(count)] }
        return count > 0
    }
}
