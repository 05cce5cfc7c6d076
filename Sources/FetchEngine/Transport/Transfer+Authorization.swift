import CCurl
import HTTPTypes

// Who makes the request. One scheme at a time, and never in the URL.
extension Transfer {
    /// Gives libcurl what it makes the field of, or plays a handshake with.
    func setAuthorization(_ easy: CurlHandle) {
        switch authorization {
        case nil: break
        case .field(let value): append(HTTPField(name: .authorization, lenientValue: value[...]))
        case .basic(let user, let password): set(easy, ccurl_auth_basic, user, password)
        case .ntlm(let user, let password):
            set(easy, ccurl_auth_ntlm, user, password)
            // The handshake is one of a connection, which HTTP/2 shares.
            ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .bearer(let token):
            ccurl_set_long(easy, CURLOPT_HTTPAUTH, ccurl_auth_bearer)
            ccurl_set_string(easy, CURLOPT_XOAUTH2_BEARER, token)
        }
    }

    /// Whether a field of the request gives way to what a challenge asked for.
    func isReplaced(_ name: HTTPField.Name) -> Bool { authorization != nil && name == .authorization }

    private func set(_ easy: CurlHandle, _ scheme: Int, _ user: String, _ password: String) {
        ccurl_set_long(easy, CURLOPT_HTTPAUTH, scheme)
        ccurl_set_string(easy, CURLOPT_USERNAME, user)
        ccurl_set_string(easy, CURLOPT_PASSWORD, password)
    }

    /// Whether a head is the second step of NTLM, which libcurl answers itself on the same connection.
    func isHandshakeStep(_ head: HeadCollector.Head) -> Bool {
        guard case .ntlm = authorization, head.status == .unauthorized, !hasShakenHands else { return false }
        let offered = OfferedChallenge.all(of: .wwwAuthenticate, in: head.fields)
        hasShakenHands = offered.contains { $0.scheme == "ntlm" && $0.token != nil }
        return hasShakenHands
    }

    /// Whether libcurl is right to send the request once more: as the last step of a handshake.
    var isEndingHandshake: Bool { hasShakenHands && requestCount == 2 }

    /// libcurl answers every second step of NTLM, however many a server sends; there is one.
    var mayGoOnShakingHands: Bool { !hasShakenHands || requestCount <= 3 }
}
