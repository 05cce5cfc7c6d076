/// The request that cookies are chosen for, or in whose answer they came.
public struct CookieContext: Sendable {
    /// The URL of the hop.
    public let url: URLRecord
    /// The document that the request is made for; without one the request is its own.
    public let mainDocumentURL: URLRecord?
    /// The accept policy of the session, which applies besides that of the storage.
    public let acceptPolicy: CookieAcceptPolicy
    /// The host in lower-case ASCII; an IPv6 address has brackets.
    let host: String
    /// The path, percent-encoded.
    let path: String
    /// Whether the scheme protects the request.
    let isSecure: Bool

    /// Makes a context.
    public init(
        url: URLRecord, mainDocumentURL: URLRecord? = nil, acceptPolicy: CookieAcceptPolicy = .always
    ) {
        self.url = url
        self.mainDocumentURL = mainDocumentURL
        self.acceptPolicy = acceptPolicy
        host = url.host ?? ""
        path = url.path
        isSecure = url.layout.special == .https || url.layout.special == .wss
    }

    /// Whether the request is made for a document of its own site, scheme included.
    ///
    /// This is what `SameSite` asks for.
    public var isSameSite: Bool { mainDocumentURL.map { Site($0) == Site(url) } ?? true }

    /// Whether the request is made for a document of its own registrable domain, with any scheme.
    ///
    /// This is what ``CookieAcceptPolicy/onlyFromMainDocumentDomain`` asks for.
    public var isFirstParty: Bool { mainDocumentURL.map { Site($0).domain == Site(url).domain } ?? true }

    /// The top-level site, which keys partitioned cookies.
    public var partition: String { Site(mainDocumentURL ?? url).text }

    /// Whether the cookie's domain covers the host (RFC 6265bis §5.1.3).
    func matches(domainOf cookie: Cookie) -> Bool {
        cookie.isHostOnly ? cookie.domain == host : Self.host(host, matches: cookie.domain)
    }

    /// Whether a host is the domain or, being a name, below it.
    static func host(_ host: String, matches domain: String) -> Bool {
        guard host != domain else { return true }
        let above = host.utf8.dropLast(domain.utf8.count)
        return above.last == UInt8(ascii: ".") && host.hasSuffix(domain) && !domain.isEmpty
            && IPAddress(host: host) == nil
    }

    /// Whether the cookie's path covers another (RFC 6265bis §5.1.4).
    static func path(_ path: String, matches cookiePath: String) -> Bool {
        let (path, cookiePath) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: cookiePath) else { return false }
        return path.count == cookiePath.count || cookiePath.last == UInt8(ascii: "/")
            || path.dropFirst(cookiePath.count).first == UInt8(ascii: "/")
    }

    /// The directory of the URL's path, which is the path of a cookie without one.
    var defaultPath: String {
        guard path.utf8.first == UInt8(ascii: "/"), let end = path.utf8.lastIndex(of: UInt8(ascii: "/")),
            end > path.startIndex
        else { return "/" }
        return String(path[..<end])
    }

    /// Whether a request in this context carries the cookie, expiry apart (RFC 6265bis §5.8.3).
    func carries(_ cookie: Cookie) -> Bool {
        guard matches(domainOf: cookie), Self.path(path, matches: cookie.path), isSecure || !cookie.isSecure else {
            return false
        }
        if let partition = cookie.partition, partition != self.partition { return false }
        switch cookie.sameSite {
        case .strict, .lax: return isSameSite
        case .noRestriction, nil: return true
        }
    }

}
