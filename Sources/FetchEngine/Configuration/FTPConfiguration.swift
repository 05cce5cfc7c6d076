/// How ftp URLs are loaded.
///
/// A URL of the scheme ftps is always encrypted, from the first byte.
public struct FTPConfiguration: Sendable, Hashable {
    /// Whether a connection made in the clear goes over to TLS (RFC 4217).
    public enum Encryption: String, Sendable, Hashable, Codable, CaseIterable {
        /// It does not.
        case none
        /// It does when the server can; else the login and the files go in the clear.
        case ifOffered
        /// It does, or the load fails.
        case required
    }

    /// Whether ftp connections go over to TLS; they do not by default.
    public var encryption = Encryption.none

    /// Makes the defaults.
    public init() {}
}
