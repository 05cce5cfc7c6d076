package import FetchEngine

/// A cookie as people are shown it: without its value, which is a secret.
package struct ShownCookie: Sendable {
    package let position: CookiePosition
    package let name: String
    /// With a dot before it when hosts below it are sent the cookie too.
    package let domain: String
    package let path: String
    package let partition: String?
    /// How many bytes the value has.
    package let valueBytes: Int
    /// As `Set-Cookie` names them.
    package let attributes: [String]
    /// Nil for one that ends with its session.
    package let expiresAt: Timestamp?
    package let setAt: Timestamp

    package init(_ cookie: Cookie) {
        position = CookiePosition(cookie)
        name = cookie.name
        domain = cookie.isHostOnly ? cookie.domain : ".\(cookie.domain)"
        path = cookie.path
        partition = cookie.partition
        valueBytes = cookie.valueBytes.count
        attributes = [
            cookie.isSecure ? "Secure" : nil, cookie.isHTTPOnly ? "HttpOnly" : nil,
            cookie.sameSite.map { "SameSite=\($0.rawValue)" },
        ].compactMap(\.self)
        expiresAt = cookie.expires.map { Timestamp(microseconds: $0.microseconds) }
        setAt = Timestamp(microseconds: cookie.creationTime.microseconds)
    }
}
