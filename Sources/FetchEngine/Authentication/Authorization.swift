/// The user of a connection that is not shared by all (SEC-21).
struct ConnectionCredential: Hashable {
    var credential: Credential?
    var proxyCredential: Credential?
    /// The only task that may use the connection, where a handshake has authenticated it for one user.
    var owner: UInt64?
}

/// The authorization of a request for its server.
enum Authorization: Equatable, CustomStringConvertible {
    /// A handshake that libcurl plays on one connection.
    case ntlm(user: String, password: String)
    /// The finished value of the field.
    case field([UInt8])

    /// Always the same text.
    var description: String { "<redacted>" }
}
