/// Why a cookie is not taken.
public enum CookieRejection: String, Error, Sendable, Hashable, Codable, CaseIterable {
    /// Name, value or an attribute has a control character.
    case controlCharacter
    /// It has neither a name nor a value.
    case empty
    /// Name and value together have more than 4096 bytes.
    case tooLong
    /// Its name or value has a character that would end it, or its path does not begin with a slash.
    case malformed
    /// It comes from something that is no HTTP server.
    case notHTTP
    /// Its domain is no host name in ASCII.
    case domainInvalid
    /// Its domain is not that of the server, nor one above it.
    case domainMismatch
    /// Its domain is one under which names are registered, such as `com` or `co.uk`.
    case publicSuffix
    /// It is `Secure` and did not come by https.
    case insecureOrigin
    /// It came by http and would replace or shadow a `Secure` one.
    case overwritesSecure
    /// It is `SameSite` and the request was made for another site's document.
    case crossSite
    /// It is `SameSite=None` and not `Secure`.
    case sameSiteNoneNotSecure
    /// It is `Partitioned` and not `Secure`.
    case partitionedNotSecure
    /// Its name begins with `__Secure-` or `__Host-`, and it does not have the attributes that this prefix requires.
    case prefix
    /// The accept policy takes none of another site's than the main document's.
    case thirdParty
    /// The accept policy takes none.
    case neverAccepted
    /// The answer set more cookies than are taken from one.
    case tooMany

    /// One sentence for a person, without anything the server sent.
    public var message: String {
        switch self {
        case .controlCharacter: "The cookie has a control character."
        case .empty: "The cookie has neither a name nor a value."
        case .tooLong: "The cookie's name and value have more than 4096 bytes."
        case .malformed: "The cookie's name, value or path is not well-formed."
        case .notHTTP: "The cookie does not come from an HTTP server."
        case .domainInvalid: "The cookie's domain is not a host name."
        case .domainMismatch: "The cookie's domain is not the server's, nor one above it."
        case .publicSuffix: "The cookie's domain is a public suffix."
        case .insecureOrigin: "The cookie is Secure and came without TLS."
        case .overwritesSecure: "The cookie came without TLS and would overwrite a Secure one."
        case .crossSite: "The cookie is SameSite and came for a document of another site."
        case .sameSiteNoneNotSecure: "The cookie is SameSite=None and not Secure."
        case .partitionedNotSecure: "The cookie is Partitioned and not Secure."
        case .prefix: "The cookie does not keep what the prefix of its name promises."
        case .thirdParty: "The accept policy refuses cookies of sites other than the main document's."
        case .neverAccepted: "The accept policy refuses all cookies."
        case .tooMany: "The answer set more cookies than are taken from one."
        }
    }
}

/// The verdict on one `Set-Cookie` line.
public enum CookieVerdict: Sendable, Hashable {
    /// It was taken; one that has expired already removes its predecessor.
    case accepted(Cookie)
    /// It was not; the name is as far as the line could be read.
    case rejected(name: String, CookieRejection)

    /// The name of the cookie.
    public var name: String {
        switch self {
        case .accepted(let cookie): cookie.name
        case .rejected(let name, _): name
        }
    }

    /// The reason it was not taken, or `nil`.
    public var rejection: CookieRejection? {
        if case .rejected(_, let reason) = self { reason } else { nil }
    }
}

/// Which of the cookies that servers set are taken, the most liberal first.
public enum CookieAcceptPolicy: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// All of them.
    case always
    /// Cookies from the site of the request's main document.
    ///
    /// A request that names no main document is its own.
    case onlyFromMainDocumentDomain
    /// None.
    case never

    /// Liberal before strict.
    public static func < (left: CookieAcceptPolicy, right: CookieAcceptPolicy) -> Bool {
        left.strictness < right.strictness
    }

    private var strictness: Int {
        switch self {
        case .always: 0
        case .onlyFromMainDocumentDomain: 1
        case .never: 2
        }
    }
}
