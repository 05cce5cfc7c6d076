import COpenSSL
import HTTPTypes

// Which stored answers a hop may be given, and which requests may be given the one that it brings.
extension Load {
    /// The fields by which responses may vary: those of the request, its user, and whether the engine undoes content
    /// codings.
    ///
    /// The user counts as `Authorization`. The response to one user is not used for another (RFC 9111 §3.5 lets a cache
    /// of one user keep it); requests of the same user find it again.
    func selecting(_ request: Request) throws(LoadError) -> HTTPFields {
        var fields = request.headerFields
        // Without `Accept-Encoding` codings are undone, unless the session leaves that to the program.
        if !configuration.automaticallyDecodesContent, !fields.contains(.acceptEncoding) {
            fields[.acceptEncoding] = "identity"
        }
        let identity = request.url.scheme == "https" ? try terms(for: request.url).identity : nil
        let user = [
            authentication.attempt?.selector ?? fields[.authorization],
            identity.map { "identity \($0.fingerprint)" },
        ].compactMap(\.self)
        if !user.isEmpty { fields[.authorization] = user.joined(separator: ", ") }
        return configuration.urlCache?.selectionKey.map(fields.withCredentialsHidden) ?? fields
    }

    /// Whether the request fields identify the user that the response is for.
    ///
    /// Tickets are those of whoever logged in last; and a step of Negotiate in the fields of an answer is good once.
    /// A credential that is neither password nor bearer token, as a program's own scheme may be given, has no text that
    /// tells it from others.
    func isStorable() -> Bool {
        authentication.attempt.map { $0.space.method != .negotiate && $0.credential.isPasswordOrToken } ?? true
    }
}

extension AuthenticationMachine.Attempt {
    /// A text that differs for every password and bearer token, is another one for credentials without either, and
    /// reveals nothing.
    fileprivate var selector: String {
        // A credential without a password is not one with an empty password.
        let secrets = [credential.password, credential.bearerToken].map { $0.map { "=\($0)" } ?? "" }
        return "credential \(Fingerprint(ofAll: ([credential.user] + secrets).map { Array($0.utf8) }))"
    }
}

extension Credential {
    fileprivate var isPasswordOrToken: Bool { password != nil || bearerToken != nil }
}

extension HTTPFields {
    /// The same with codes in place of credentials (RFC 2104), so that who sees a digest of them and has no key cannot
    /// try passwords on it.
    fileprivate func withCredentialsHidden(by key: [UInt8]) -> HTTPFields {
        guard contains(where: \.name.isOfCredential) else { return self }
        var hidden: [HTTPField] = []
        for field in self {
            guard field.name.isOfCredential else {
                hidden.append(field)
                continue
            }
            let value = Array(field.value.utf8)
            var code = [UInt8](repeating: 0, count: ContentDigest.sha256.byteCount)
            HMAC(EVP_sha256(), key, Int32(key.count), value, value.count, &code, nil)
            hidden.append(HTTPField(name: field.name, value: String(decoding: Base64.encode(code), as: UTF8.self)))
        }
        return HTTPFields(hidden)
    }
}
