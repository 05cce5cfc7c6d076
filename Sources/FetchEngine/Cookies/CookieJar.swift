/// A change of a jar.
package enum CookieChange: Sendable {
    /// A cookie is there that was not, or was another.
    case set(Cookie)
    /// A cookie is gone.
    case remove(Cookie)

    /// The cookie that is there now, or was.
    package var cookie: Cookie {
        switch self {
        case .set(let cookie), .remove(let cookie): cookie
        }
    }
}

/// Cookies and the rules of keeping them, without a clock and a lock (RFC 6265bis §5.7, §5.8).
///
/// A storage that keeps cookies elsewhere can load those of a few domains into a jar, let it decide, and write the
/// changes back.
public struct CookieJar: Sendable {
    /// A cookie and its order among others.
    struct Entry {
        var cookie: Cookie
        var lastAccess: UnixTime
        /// Tells cookies apart that were set at the same instant.
        let number: UInt64
    }

    /// The most cookies of one domain.
    public static let maximumPerDomain = 180
    /// The most cookies of all; beyond it a tenth goes at once.
    public static let maximumCount = 3000

    /// Which cookies that servers set are taken.
    public var acceptPolicy: CookieAcceptPolicy

    /// How many cookies there are, expired ones included.
    public private(set) var count = 0

    private var domains: [String: [Cookie.Key: Entry]] = [:]
    private var nextNumber: UInt64 = 0
    /// The changes since they were last taken; `nil` when they are not recorded.
    private var changes: [CookieChange]?

    /// Makes an empty jar.
    public init(acceptPolicy: CookieAcceptPolicy = .always) { self.acceptPolicy = acceptPolicy }

    /// Makes a jar of cookies that were kept elsewhere, in the order they were first set.
    init(_ cookies: [Cookie], acceptPolicy: CookieAcceptPolicy, at now: UnixTime) {
        self.acceptPolicy = acceptPolicy
        for cookie in cookies { put(cookie, at: now) }
    }

    // MARK: Changes

    /// Makes an empty jar that notes its changes, for a storage that keeps its cookies elsewhere too.
    package static func noting() -> CookieJar {
        var jar = CookieJar()
        jar.changes = []
        return jar
    }

    /// The changes since the last call, in order.
    package mutating func takeChanges() -> [CookieChange] {
        defer { if changes?.isEmpty == false { changes = [] } }
        return changes ?? []
    }

    // MARK: Reading

    /// The cookies that have not expired, in the order they were first set.
    public func cookies(at now: UnixTime) -> [Cookie] {
        domains.values.joined().map(\.value)
            .filter { !$0.cookie.isExpired(at: now) }.sorted(by: Self.isEarlier).map(\.cookie)
    }

    /// The cookies a request carries, in the order of its field: longer paths first, then the earlier set.
    ///
    /// Notes that they were used.
    public mutating func cookies(for context: CookieContext, at now: UnixTime) -> [Cookie] {
        guard count > 0 else { return [] }
        var found: [Entry] = []
        for domain in domainsCovering(context.host) {
            for (key, entry) in domains[domain] ?? [:] where context.carries(entry.cookie) {
                guard !entry.cookie.isExpired(at: now) else { continue }
                domains[domain]?[key]?.lastAccess = now
                found.append(entry)
            }
        }
        found.sort { left, right in
            let (leftLength, rightLength) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return leftLength == rightLength ? Self.isEarlier(left, right) : leftLength > rightLength
        }
        return found.map(\.cookie)
    }

    /// The domains there are cookies of that the host may be given.
    ///
    /// A name that has become a public suffix since a cookie was set gives nothing to the names below it.
    private func domainsCovering(_ host: String) -> [String] {
        var result = domains[host] == nil ? [] : [host]
        guard IPAddress(host: host) == nil else { return result }
        for parent in HostName.parents(of: host) {
            let parent = String(parent)
            if domains[parent] != nil, !PublicSuffixes.contains(parent) { result.append(parent) }
        }
        return result
    }

    private static func isEarlier(_ left: Entry, _ right: Entry) -> Bool {
        (left.cookie.creationTime, left.number) < (right.cookie.creationTime, right.number)
    }

    // MARK: Writing

    /// Takes a cookie that a server set, or says why not.
    ///
    /// It replaces the one of the same name, domain and path and keeps that one's creation time; when it has expired
    /// already, it only removes that one. The stricter of the jar's policy and the context's counts.
    public mutating func store(
        _ cookie: Cookie, from context: CookieContext, at now: UnixTime
    ) throws(CookieRejection) {
        switch max(acceptPolicy, context.acceptPolicy) {
        case .always: break
        case .onlyFromMainDocumentDomain: guard context.isFirstParty else { throw .thirdParty }
        case .never: throw .neverAccepted
        }
        if !cookie.isSecure, !context.isSecure, overwritesSecure(cookie, at: now) { throw .overwritesSecure }
        put(cookie, at: now)
    }

    /// Takes a cookie that the program made; only the policy `never` refuses it.
    public mutating func set(_ cookie: Cookie, at now: UnixTime) throws(CookieRejection) {
        guard acceptPolicy != .never else { throw .neverAccepted }
        put(cookie, at: now)
    }

    /// Removes the cookie with this name, domain and path; returns whether there was one.
    @discardableResult
    public mutating func remove(_ cookie: Cookie) -> Bool {
        guard let removed = removeValue(for: cookie.key) else { return false }
        changes?.append(.remove(removed.cookie))
        return true
    }

    /// Removes the cookies that were set at that time or later, or all; returns whether there were any.
    @discardableResult
    public mutating func removeCookies(since time: UnixTime? = nil) -> Bool {
        remove { entry in time.map { entry.cookie.creationTime >= $0 } ?? true }
    }

    /// Removes the cookies that end with the session; returns whether there were any.
    @discardableResult
    public mutating func removeSessionCookies() -> Bool { remove { $0.cookie.isSessionOnly } }

    private mutating func put(_ cookie: Cookie, at now: UnixTime) {
        let old = removeValue(for: cookie.key)
        guard !cookie.isExpired(at: now) else {
            if let old { changes?.append(.remove(old.cookie)) }
            return
        }
        var cookie = cookie
        if let old { cookie.creationTime = old.cookie.creationTime }
        domains[cookie.domain, default: [:]][cookie.key] = Entry(
            cookie: cookie, lastAccess: now, number: old?.number ?? nextNumber)
        nextNumber += 1
        count += 1
        if cookie != old?.cookie { changes?.append(.set(cookie)) }
        makeRoom(in: cookie.domain, at: now)
    }

    private mutating func removeValue(for key: Cookie.Key) -> Entry? {
        guard let entry = domains[key.domain]?.removeValue(forKey: key) else { return nil }
        count -= 1
        if domains[key.domain]?.isEmpty == true { domains[key.domain] = nil }
        return entry
    }

    private mutating func remove(where condition: (Entry) -> Bool) -> Bool {
        let cookies = domains.values.joined().filter { condition($0.value) }.map(\.value.cookie)
        for cookie in cookies { remove(cookie) }
        return !cookies.isEmpty
    }

    /// Whether the path and the domain are ones that a `Secure` cookie of the same name is sent to.
    ///
    /// Somebody between here and a server could otherwise put a cookie in place of one he cannot see.
    private func overwritesSecure(_ cookie: Cookie, at now: UnixTime) -> Bool {
        domains.contains { domain, entries in
            let overlaps =
                CookieContext.host(domain, matches: cookie.domain) || CookieContext.host(cookie.domain, matches: domain)
            return overlaps
                && entries.values.contains { entry in
                    entry.cookie.isSecure && entry.cookie.nameBytes == cookie.nameBytes
                        && !entry.cookie.isExpired(at: now)
                        && CookieContext.path(cookie.path, matches: entry.cookie.path)
                }
        }
    }

    // MARK: Limits

    /// Removes the surplus, in the order of RFC 6265bis §5.7.
    ///
    /// Expired cookies go first; then, of a domain with too many, those that are not `Secure`; then, when all are too
    /// many, any. Of equal ones the longest unused goes.
    private mutating func makeRoom(in domain: String, at now: UnixTime) {
        if let entries = domains[domain], entries.count > Self.maximumPerDomain {
            evict(1, of: entries.values.map(\.self), at: now) { $0.cookie.isSecure ? 1 : 0 }
        }
        if count > Self.maximumCount {
            evict(Self.maximumCount / 10, of: domains.values.flatMap(\.values), at: now) { _ in 0 }
        }
    }

    /// Removes the expired entries, and others until so many are gone: those of the lowest rank first.
    private mutating func evict(_ number: Int, of entries: [Entry], at now: UnixTime, by rank: (Entry) -> Int) {
        let order = entries.map { entry in
            (rank: entry.cookie.isExpired(at: now) ? -1 : rank(entry), entry: entry)
        }.sorted { left, right in
            (left.rank, left.entry.lastAccess, left.entry.number)
                < (right.rank, right.entry.lastAccess, right.entry.number)
        }
        for (index, place) in order.enumerated() where index < number || place.rank < 0 {
            remove(place.entry.cookie)
        }
    }
}
