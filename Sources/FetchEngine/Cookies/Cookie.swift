/// A piece of state from a server, with the URLs that it is sent back to (RFC 6265bis).
///
/// A cookie that exists keeps the rules a cookie can keep by itself. Its value is a secret: it is not in the
/// description.
///
/// ```swift
/// let cookie = try Cookie(setCookie: Array("id=1; Path=/; Secure".utf8), from: url)
/// try await MemoryCookieStorage().setCookie(cookie)
/// ```
public struct Cookie: Sendable, Hashable {
    /// Which requests a cookie accompanies when they are made for a document of another site.
    public enum SameSite: String, Sendable, Hashable, Codable, CaseIterable {
        /// None of them.
        case strict
        /// None of them: the one exception, following a link in a browser, does not occur here.
        case lax
        /// All of them.
        case noRestriction = "none"
    }

    /// The name as the server wrote it; may be empty.
    public let nameBytes: [UInt8]
    /// The value as the server wrote it; may be empty, and need not be UTF-8.
    public let valueBytes: [UInt8]
    /// The host it is sent to, in lower-case ASCII without a leading dot.
    public let domain: String
    /// Whether it is sent to that host alone and not to hosts below it.
    public let isHostOnly: Bool
    /// The path it is sent to, and to paths below.
    public let path: String
    /// When it ends; `nil` for a session cookie, which ends with the storage's session.
    public let expires: UnixTime?
    /// Whether it is sent by https only.
    public let isSecure: Bool
    /// Whether scripts of a page may not see it.
    public let isHTTPOnly: Bool
    /// Whether it accompanies requests for another site's documents; `nil` when the server did not say.
    public let sameSite: SameSite?
    /// The top-level site, such as `https://example.org`, under which alone it is sent; `nil` for all (CHIPS).
    public let partition: String?
    /// When a cookie of this name, domain and path was first set.
    public internal(set) var creationTime: UnixTime

    /// The name as text.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }

    /// The value as text; bytes that are not UTF-8 are replaced.
    public var value: String { String(decoding: valueBytes, as: UTF8.self) }

    /// Whether it ends with the session.
    public var isSessionOnly: Bool { expires == nil }

    /// Whether it has ended by then.
    public func isExpired(at time: UnixTime) -> Bool { expires.map { $0 <= time } ?? false }

    /// The key of the cookie in a storage: setting a cookie replaces the one with the same key.
    struct Key: Hashable {
        let name: [UInt8]
        let domain: String
        let isHostOnly: Bool
        let path: String
        let partition: String?
    }

    var key: Key { Key(name: nameBytes, domain: domain, isHostOnly: isHostOnly, path: path, partition: partition) }

    init(
        nameBytes: [UInt8], valueBytes: [UInt8], domain: String, isHostOnly: Bool, path: String, expires: UnixTime?,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite?, partition: String?, creationTime: UnixTime
    ) {
        self.nameBytes = nameBytes
        self.valueBytes = valueBytes
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.partition = partition
        self.creationTime = creationTime
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path.
    public var description: String { "\(name) for \(isHostOnly ? "" : ".")\(domain)\(path)" }

    /// Name, domain and path.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "domain": domain, "path": path]) }
}

extension Cookie {
    /// Makes a cookie.
    ///
    /// - Parameters:
    ///   - name: The name; without `=`, `;` and control characters.
    ///   - value: The value; without `;` and control characters.
    ///   - domain: The host it is sent to. With a leading dot, the hosts below it too.
    ///   - path: The path it is sent to; begins with a slash.
    ///   - expires: When it ends; `nil` for a session cookie.
    ///   - isSecure: Whether it is sent by https only.
    ///   - isHTTPOnly: Whether scripts of a page may not see it.
    ///   - sameSite: Whether it accompanies requests for another site's documents.
    ///   - partition: The top-level site under which alone it is sent.
    ///   - creationTime: When it was first set.
    /// - Throws: The reason why it can be no cookie.
    public init(
        name: String, value: String, domain: String, path: String = "/", expires: UnixTime? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil, partition: String? = nil,
        creationTime: UnixTime = .now
    ) throws(CookieRejection) {
        try self.init(
            nameBytes: Array(name.utf8), valueBytes: Array(value.utf8), domain: domain, path: path, expires: expires,
            isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite, partition: partition,
            creationTime: creationTime)
    }

    /// Makes a cookie of bytes that need not be UTF-8, as a storage has kept them; the rules are the same.
    public init(
        nameBytes: [UInt8], valueBytes: [UInt8], domain: String, path: String = "/", expires: UnixTime? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil, partition: String? = nil,
        creationTime: UnixTime = .now
    ) throws(CookieRejection) {
        try Self.check(name: nameBytes, value: valueBytes, path: path)
        // By bytes: the text may be anything, and no host is compared before it is known to be one.
        let isBelow = domain.utf8.first == UInt8(ascii: ".")
        guard let host = Self.canonicalHost(domain.utf8.dropFirst(isBelow ? 1 : 0)) else {
            throw .domainInvalid
        }
        let isName = IPAddress(host: host) == nil
        if isBelow, isName, PublicSuffixes.contains(host) { throw .publicSuffix }
        self.init(
            nameBytes: nameBytes, valueBytes: valueBytes, domain: host, isHostOnly: !isBelow || !isName, path: path,
            expires: expires, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite, partition: partition,
            creationTime: creationTime)
        try checkAttributes(hasPath: true)
    }

    private static func check(name: [UInt8], value: [UInt8], path: String) throws(CookieRejection) {
        let all = [name[...], value[...], Array(path.utf8)[...]]
        guard !all.contains(where: { $0.contains(where: SetCookie.isControl) }) else { throw .controlCharacter }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        guard name.count + value.count <= SetCookie.maximumLength else { throw .tooLong }
        let isWhole =
            !name.contains(UInt8(ascii: "=")) && !all.contains { $0.contains(UInt8(ascii: ";")) }
            && name[...].trimmed.count == name.count && value[...].trimmed.count == value.count
            && path.utf8.first == UInt8(ascii: "/") && path.utf8.count <= SetCookie.maximumAttributeLength
        guard isWhole else { throw .malformed }
    }

    /// The host in the form of URL records, or `nil` when the text is no host.
    private static func canonicalHost(_ text: some Sequence<UInt8>) -> String? {
        guard let bytes = try? HostParser.parse(Array(text)[...], isSpecial: true), !bytes.isEmpty else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Checks the rules between attributes (RFC 6265bis §5.7, steps 18 to 21, and CHIPS).
    func checkAttributes(hasPath: Bool) throws(CookieRejection) {
        if sameSite == .noRestriction, !isSecure { throw .sameSiteNoneNotSecure }
        if partition != nil, !isSecure { throw .partitionedNotSecure }
        // A value without a name must not look like a pair with such a name once it is sent.
        let text = nameBytes.isEmpty ? valueBytes : nameBytes
        if text.hasPrefix("__secure-") { guard isSecure, !nameBytes.isEmpty else { throw .prefix } }
        if text.hasPrefix("__host-") {
            guard isSecure, isHostOnly, hasPath, path == "/", !nameBytes.isEmpty else { throw .prefix }
        }
    }
}

extension [UInt8] {
    /// Whether it begins with these lower-case letters, in any case.
    fileprivate func hasPrefix(_ letters: StaticString) -> Bool {
        letters.withUTF8Buffer { prefix($0.count).map(\.asciiLowercased).elementsEqual($0) }
    }
}
