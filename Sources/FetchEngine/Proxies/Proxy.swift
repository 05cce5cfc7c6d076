/// A server that relays connections or requests to others.
///
/// ```swift
/// let login = Credential(user: user, password: password)
/// let proxy = Proxy(.http, host: "proxy.example.com", port: 3128, credential: login)
/// configuration.proxies = ProxyConfiguration(http: proxy, https: proxy)
/// ```
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// The protocol to the proxy.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// HTTP; a tunnel by CONNECT for everything but http and ftp URLs.
        case http
        /// The same, with TLS on the way to the proxy.
        case https
        /// SOCKS 4: names are resolved here, IPv4 only.
        case socks4
        /// SOCKS 4a: names are resolved by the proxy.
        case socks4a
        /// SOCKS 5 (RFC 1928): names are resolved here.
        case socks5
        /// SOCKS 5: names are resolved by the proxy.
        case socks5h

        /// The port when none is named.
        public var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks4, .socks4a, .socks5, .socks5h: 1080
            }
        }

        /// Whether it speaks HTTP rather than SOCKS.
        var isHTTP: Bool { self == .http || self == .https }

        /// Whether the names of targets are resolved on our side.
        var resolvesHere: Bool { self == .socks4 || self == .socks5 }
    }

    /// The protocol to the proxy.
    public let kind: Kind
    /// Its host in ASCII, an IPv6 address in brackets.
    public let host: String
    /// Its port.
    public let port: UInt16
    /// The credential for its challenges.
    ///
    /// SOCKS 4 takes the user name alone. `nil`: the delegate is asked when an HTTP proxy wants one.
    public var credential: Credential?
    /// The only space in which the credential answers; nil for every challenge of this proxy.
    package var credentialSpace: ProtectionSpace?

    /// Makes a proxy; `nil` when the host is invalid.
    ///
    /// - Parameters:
    ///   - kind: How it is spoken to.
    ///   - host: A name or an address; an IPv6 address with or without brackets.
    ///   - port: `nil` is the kind's default.
    ///   - credential: The credential for its challenges; none by default.
    public init?(_ kind: Kind, host: String, port: UInt16? = nil, credential: Credential? = nil) {
        let isBareIPv6 = IPAddress(host)?.isIPv6 ?? false
        guard let record = try? URLRecord("http://" + (isBareIPv6 ? "[\(host)]" : host) + "/"), !record.hasCredentials,
            let parsed = record.host, !parsed.isEmpty, record.port == nil, !Self.namesPort(host[...]) || isBareIPv6,
            record.path == "/", record.query == nil
        else { return nil }
        self.kind = kind
        self.host = parsed
        self.port = port ?? kind.defaultPort
        self.credential = credential
    }

    /// Reads `kind://user:password@host:port`; kind, user, password and port may be missing.
    ///
    /// Without a kind it is an HTTP proxy. The user name and the password are percent-decoded. `nil` when the text is
    /// anything else.
    public init?(_ text: String) {
        var rest = text[...]
        var kind = Kind.http
        if let separator = text.firstRange(of: "://") {
            guard let named = Self.kind(text[..<separator.lowerBound].lowercased()) else { return nil }
            kind = named
            rest = text[separator.upperBound...]
        }
        // The number of a port that is http's default is not kept in a record, so it is read with one that has none.
        guard let record = try? URLRecord("http://\(rest)"), let host = record.host, !host.isEmpty,
            record.path == "/", record.query == nil, record.fragment == nil
        else { return nil }
        self.kind = kind
        self.host = host
        port = record.port ?? (Self.namesPort(rest) ? 80 : kind.defaultPort)
        credential = Self.credential(of: record)
        // Connections through a proxy are told apart by it.
        let texts = [credential?.user, credential?.password]
        guard texts.allSatisfy({ $0?.unicodeScalars.isStreamSafe ?? true }) else { return nil }
    }

    /// Kind, host and port.
    public var description: String { "\(kind.rawValue)://\(host):\(port)" }

    /// The credential for a space of the proxy.
    func credential(for space: ProtectionSpace) -> Credential? {
        credentialSpace?.covers(space) ?? true ? credential : nil
    }

    private static func kind(_ name: String) -> Kind? { name == "socks" ? .socks5 : Kind(rawValue: name) }

    private static func namesPort(_ authority: Substring) -> Bool {
        let host = authority.split(separator: "@").last ?? authority
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return false }
        return host[colon...].dropFirst().first?.isNumber ?? false
    }

    private static func credential(of record: URLRecord) -> Credential? {
        guard record.hasCredentials else { return nil }
        func decoded(_ text: String) -> String {
            String(decoding: percentDecoded(Array(text.utf8)[...]), as: UTF8.self)
        }
        return Credential(
            user: decoded(record.username), password: decoded(record.password), persistence: .forSession)
    }
}

extension ProtectionSpace.Party {
    /// A proxy.
    package init(_ proxy: Proxy) {
        self.init(host: proxy.host, port: proxy.port, scheme: proxy.kind.rawValue, isProxy: true)
    }
}
