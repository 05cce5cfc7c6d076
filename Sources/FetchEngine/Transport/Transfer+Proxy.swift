import CCurl
import HTTPTypes

extension Transfer {
    /// Sets the proxy, or explicitly none, because libcurl would otherwise take one from the environment (SEC-22).
    func setProxy(_ easy: CurlHandle) {
        ccurl_set_string(easy, CURLOPT_NOPROXY, "")
        guard let proxy = terms.proxy else {
            ccurl_set_string(easy, CURLOPT_PROXY, "")
            return
        }
        ccurl_set_string(easy, CURLOPT_PROXY, proxy.description)
        // Without it the request's fields, credentials too, would be shown to the proxy with CONNECT.
        ccurl_set_long(easy, CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        // The proxy's own answer is wanted when it refuses.
        ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 0)
        if proxy.kind == .https { setProxyTLS(easy) }
        if !proxy.kind.isHTTP, let credential = proxy.credential {
            ccurl_set_plain_socks_authentication(easy)
            setProxyCredential(credential, easy)
        }
        metrics.isProxyConnection = true
    }

    /// Sets the credential for an HTTP proxy, in one scheme.
    func setProxyCredential(_ credential: Credential, _ easy: CurlHandle) {
        ccurl_set_string(easy, CURLOPT_PROXYUSERNAME, credential.user)
        ccurl_set_string(easy, CURLOPT_PROXYPASSWORD, credential.password ?? "")
    }

    /// Whether the next route may be tried: the proxy was not reached, and the request was not sent.
    var allowsNextRoute: Bool {
        guard case .some(.some(let error)) = outcome, terms.proxy != nil, requestCount == 0 else { return false }
        return error.code == .cannotConnectToProxy || error.code == .cannotFindProxy
    }

    // MARK: Responses of the proxy

    /// Takes a line of a proxy's answer to CONNECT; false when the line is the target's.
    func takeProxyLine(_ line: UnsafeRawBufferPointer) -> Bool {
        guard isTunnelled, requestCount == 0 else { return false }
        guard proxyCollector.append(line) else { return true }
        let ended = proxyCollector
        proxyCollector = HeadCollector(partition.names)
        // A head that cannot be read does not count; libcurl judges it by itself.
        guard let head = try? ended.head(), head.status.code >= 200 else { return true }
        proxyResponse = Response(
            url: request.url.withoutCredentials(), status: head.status, headerFields: head.fields,
            httpVersion: head.httpVersion, expectedContentLength: nil)
        return true
    }

    /// The failure of the proxy, if any.
    func proxyFailure(_ result: CURLcode) -> ProxyFailure? {
        guard let proxy = terms.proxy, let easy, requestCount == 0 else { return nil }
        switch result {
        // Of a SOCKS proxy's name libcurl says the latter; of a target's that it resolved for one it says CURLE_PROXY.
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST: return .proxyNotFound
        case CURLE_COULDNT_CONNECT: return .notReached
        case CURLE_PROXY:
            var reason = 0
            ccurl_get_long(easy, CURLINFO_PROXY_ERROR, &reason)
            return .init(socksReason: CURLproxycode(UInt32(reason)))
        default: break
        }
        if handshake?.terms.isProxy ?? false, Self.tlsFailures.contains(result) { return .notReached }
        guard proxy.kind.isHTTP else { return nil }
        var status = 0
        ccurl_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
        if status != 0, status / 100 != 2 { return .init(connectStatus: status) }
        switch result {
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING: return status == 0 ? .notReached : nil
        // The last one means a line that is no header field.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT: return .badAnswer
        default: return nil
        }
    }

    private static let tlsFailures: [CURLcode] = [
        CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
        CURLE_RECV_ERROR, CURLE_SEND_ERROR,
    ]
}

extension ProxyFailure {
    /// The reply of a SOCKS proxy, or the failure before it.
    fileprivate init(socksReason reason: CURLproxycode) {
        switch reason {
        case CURLPX_RESOLVE_HOST: self = .targetNotFound
        case CURLPX_NO_AUTH, CURLPX_RECV_AUTH, CURLPX_SEND_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD,
            CURLPX_IDENTD_DIFFER, CURLPX_LONG_USER, CURLPX_LONG_PASSWD, CURLPX_GSSAPI, CURLPX_GSSAPI_PERMSG:
            self = .wantsCredential
        case CURLPX_CLOSED, CURLPX_RECV_CONNECT, CURLPX_SEND_CONNECT: self = .notReached
        case CURLPX_BAD_VERSION, CURLPX_BAD_ADDRESS_TYPE, CURLPX_UNKNOWN_MODE, CURLPX_UNKNOWN_FAIL,
            CURLPX_GSSAPI_PROTECTION:
            self = .badAnswer
        case CURLPX_REPLY_TTL_EXPIRED: self = .tooLate
        default: self = .refused
        }
    }
}
