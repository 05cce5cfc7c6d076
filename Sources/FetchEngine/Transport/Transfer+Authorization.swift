import CCurl
import HTTPTypes

// The authorization of a request. One scheme at a time, and never in the URL.
extension Transfer {
    /// Gives libcurl the field, or the credential with which it plays a handshake.
    func setAuthorization(_ easy: CurlHandle) {
        switch authorization {
        case nil: break
        case .field(let value): append(HTTPField(name: .authorization, lenientValue: value[...]))
        case .ntlm(let user, let password):
            set(easy, ccurl_auth_ntlm, user, password)
            // The handshake is one of a connection, which HTTP/2 shares.
            ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        }
    }

    /// The same for the proxy.
    func setProxyAuthorization(_ easy: CurlHandle) {
        switch proxyAuthorization {
        case nil: break
        case .ntlm(let user, let password): setProxy(easy, ccurl_auth_ntlm, user, password)
        case .field(let value): setProxyField(easy, value)
        }
    }

    private func setProxy(_ easy: CurlHandle, _ scheme: Int, _ user: String, _ password: String) {
        ccurl_set_long(easy, CURLOPT_PROXYAUTH, scheme)
        ccurl_set_string(easy, CURLOPT_PROXYUSERNAME, user)
        ccurl_set_string(easy, CURLOPT_PROXYPASSWORD, password)
    }

    /// libcurl sends these fields with CONNECT, and with a request to the proxy itself, but through no tunnel.
    private func setProxyField(_ easy: CurlHandle, _ value: [UInt8]) {
        let line = Array("Proxy-Authorization: ".utf8) + value + [0]
        line.withUnsafeBytes { bytes in
            guard let text = bytes.bindMemory(to: CChar.self).baseAddress else { return }
            proxyFieldList = curl_slist_append(proxyFieldList, text)
        }
        if let proxyFieldList { ccurl_set_proxy_headers(easy, proxyFieldList) }
    }

    /// Whether a field of the request gives way to the answer to a challenge.
    func isReplaced(_ name: HTTPField.Name) -> Bool { authorization != nil && name == .authorization }

    private func set(_ easy: CurlHandle, _ scheme: Int, _ user: String, _ password: String) {
        ccurl_set_long(easy, CURLOPT_HTTPAUTH, scheme)
        ccurl_set_string(easy, CURLOPT_USERNAME, user)
        ccurl_set_string(easy, CURLOPT_PASSWORD, password)
    }

    /// Whether a head is the second step of NTLM, which libcurl answers itself on the same connection.
    func isHandshakeStep(_ head: HeadCollector.Head) -> Bool {
        guard !hasShakenHands, let name = handshakeField(head.status.code) else { return false }
        let offered = OfferedChallenge.all(of: name, in: head.fields)
        hasShakenHands = offered.contains { $0.scheme == "ntlm" && $0.token != nil }
        return hasShakenHands
    }

    private func handshakeField(_ status: Int) -> HTTPField.Name? {
        switch (status, authorization, proxyAuthorization) {
        case (401, .ntlm, _): .wwwAuthenticate
        case (407, _, .ntlm): .proxyAuthenticate
        default: nil
        }
    }

    /// Whether libcurl is right to send the request once more: as the last step of a handshake.
    var isEndingHandshake: Bool { hasShakenHands && requestCount == 2 }

    /// libcurl answers every second step of NTLM, however many a server sends; there is one.
    var mayGoOnShakingHands: Bool { !hasShakenHands || requestCount <= 3 }
}
