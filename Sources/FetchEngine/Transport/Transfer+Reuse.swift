import CCurl
import COpenSSL
import Glibc

// Looks for bytes on a kept connection before a request is sent over it. Nobody has asked for them, so they must not be
// taken for the response (RFC 9112 §9.2), as libcurl would do. Bytes that come once the request is on its way cannot be
// told from it.
extension Transfer {
    /// Whether nothing has come on a kept connection since its last answer.
    func isQuiet(_ socket: Int32) -> Bool {
        let secure = secureConnection
        guard !isMultiplexed(secure) else { return true }
        let layers = secure.map { handshake?.layers(upTo: $0) ?? [$0] } ?? []
        // Bytes that OpenSSL has read already: the last record of the response may have had more in it.
        guard layers.allSatisfy({ SSL_has_pending($0) == 0 }) else { return false }
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN }
        // A proxy's layer around the server's has no tickets that are worth a look.
        guard count > 0, layers.count == 1 else { return false }
        return layers[0].takesAsTickets(whatIsOn: socket)
    }

    /// The numbers of its streams tell whose answer is whose.
    func isMultiplexed(_ connection: OpaquePointer?) -> Bool {
        guard let connection else { return !isSecure && !speaksFTP && shared.value.httpVersion == .http2 }
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(connection, &name, &count)
        return UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8)
    }

    /// The present TLS connection, the server's if there is one with the proxy too.
    var secureConnection: OpaquePointer? {
        guard speaksTLS || terms.proxy?.kind == .https, let easy else { return nil }
        var information: UnsafeMutableRawPointer?
        guard ccurl_get_pointer(easy, CURLINFO_TLS_SSL_PTR, &information) == CURLE_OK,
            let session = information?.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee,
            session.backend == CURLSSLBACKEND_OPENSSL, let connection = session.internals
        else { return nil }
        return OpaquePointer(connection)
    }

    /// Whether it failed for lack of a descriptor, before a byte of the request was sent.
    func hasToWaitForDescriptors(_ result: CURLcode) -> Bool {
        guard result != CURLE_OK, failure == nil, state.cancellation == nil, requestCount == 0 else { return false }
        // Looking up a name and reading the authorities take some, too.
        let wants = [
            CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_OUT_OF_MEMORY, CURLE_SSL_CACERT_BADFILE,
        ]
        guard lacksDescriptor || wants.contains(result) && DescriptorBudget.isSystemExhausted else { return false }
        lacksDescriptor = false
        forgetConnection()
        return true
    }
}

extension OpaquePointer {
    /// Lets OpenSSL read the bytes on a quiet TLS 1.3 connection, if they are nothing but messages of TLS itself.
    ///
    /// A server may send tickets whenever it likes, in records that look like all others. OpenSSL decides it on a copy
    /// of its input: libcurl's own may only be read from within libcurl.
    ///
    /// - Returns: false when there was content, or an end; then the connection can only be closed.
    fileprivate func takesAsTickets(whatIsOn socket: Int32) -> Bool {
        guard SSL_version(self) == TLS1_3_VERSION, let reading = SSL_get_rbio(self), let writing = SSL_get_wbio(self)
        else { return false }
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard count > 0, count < bytes.count, Self.areWholeRecords(bytes[..<count]),
            let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { return false }
        BIO_write(input, bytes, Int32(count))
        BIO_up_ref(reading)
        BIO_up_ref(writing)
        SSL_set0_rbio(self, input)
        SSL_set0_wbio(self, output)
        var content: UInt8 = 0
        let result = SSL_peek(self, &content, 1)
        let isWanting = result <= 0 && SSL_get_error(self, result) == SSL_ERROR_WANT_READ
        let isDone = SSL_has_pending(self) == 0 && BIO_ctrl_pending(input) == 0 && BIO_ctrl_pending(output) == 0
        SSL_set0_rbio(self, reading)
        SSL_set0_wbio(self, writing)
        ERR_clear_error()
        return isWanting && isDone
    }

    /// Half a record could be the first half of an answer.
    private static func areWholeRecords(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while rest.count > 5 {
            let start = rest.startIndex
            let length = 5 + Int(rest[start + 3]) << 8 + Int(rest[start + 4])
            guard rest[start] == 23, rest.count >= length else { return false }
            rest = rest.dropFirst(length)
        }
        return rest.isEmpty
    }
}
