import Synchronization

/// Cookies in memory, gone with the process.
public final class MemoryCookieStorage: CookieStorage {
    private let jar: Mutex<CookieJar>
    private let cookieReaders = Broadcast<Void>()
    private let policyReaders = Broadcast<CookieAcceptPolicy>()

    private let endsWithSession: Bool

    /// Makes an empty storage.
    public convenience init(acceptPolicy: CookieAcceptPolicy = .always) {
        self.init([], acceptPolicy: acceptPolicy)
    }

    init(_ cookies: [Cookie] = [], acceptPolicy: CookieAcceptPolicy = .always, endsWithSession: Bool = false) {
        jar = Mutex(CookieJar(cookies, acceptPolicy: acceptPolicy, at: .now))
        self.endsWithSession = endsWithSession
    }

    /// All cookies that have not expired, for a look from any thread.
    var allCookies: [Cookie] { jar.withLock { $0.cookies(at: .now) } }

    /// Whether it has no cookie, not even an expired one.
    public var isKnownEmpty: Bool { jar.withLock { $0.count == 0 } }

    /// The cookies that a request carries, in the order of its field.
    public nonisolated(nonsending) func cookies(for context: CookieContext, at now: UnixTime) async -> [Cookie] {
        jar.withLock { $0.cookies(for: context, at: now) }
    }

    /// Takes the cookies of one answer, in order; returns for each why it was not taken.
    public nonisolated(nonsending) func store(
        _ cookies: [Cookie], from context: CookieContext, at now: UnixTime
    ) async -> [CookieRejection?] {
        let reasons = jar.withLock { jar in
            cookies.map { cookie -> CookieRejection? in
                do throws(CookieRejection) {
                    try jar.store(cookie, from: context, at: now)
                    return nil
                } catch {
                    return error
                }
            }
        }
        if reasons.contains(nil) { cookieReaders.send(()) }
        return reasons
    }

    /// All cookies that have not expired, in the order they were first set.
    public nonisolated(nonsending) func cookies(at now: UnixTime) async -> [Cookie] {
        jar.withLock { $0.cookies(at: now) }
    }

    /// Takes a cookie that the program made; with the policy `never` nothing happens.
    public nonisolated(nonsending) func setCookie(_ cookie: Cookie, at now: UnixTime) async {
        let isSet = jar.withLock { jar in
            do throws(CookieRejection) {
                try jar.set(cookie, at: now)
                return true
            } catch {
                // The policy refuses it, as documented.
                return false
            }
        }
        if isSet { cookieReaders.send(()) }
    }

    /// Removes the cookie with this name, domain and path.
    public nonisolated(nonsending) func deleteCookie(_ cookie: Cookie) async {
        if jar.withLock({ $0.remove(cookie) }) { cookieReaders.send(()) }
    }

    /// Removes the cookies that were first set at that time or later; `nil` removes all.
    public nonisolated(nonsending) func removeCookies(since time: UnixTime?) async {
        if jar.withLock({ $0.removeCookies(since: time) }) { cookieReaders.send(()) }
    }

    /// Which cookies that servers set are taken.
    public nonisolated(nonsending) func cookieAcceptPolicy() async -> CookieAcceptPolicy {
        jar.withLock { $0.acceptPolicy }
    }

    /// Changes which cookies are taken, from the next answer on, for all who share the storage.
    public nonisolated(nonsending) func setCookieAcceptPolicy(_ policy: CookieAcceptPolicy) async {
        let isNew = jar.withLock { jar in
            defer { jar.acceptPolicy = policy }
            return jar.acceptPolicy != policy
        }
        if isNew { policyReaders.send(policy) }
    }

    /// An element after cookies were set or removed; changes that its reader has not seen yet are one element.
    public func cookiesChanged() -> AsyncStream<Void> { cookieReaders.stream() }

    /// The policy, after it was changed; a reader that is late sees the newest only.
    public func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy> { policyReaders.stream() }

    /// The session is over: forgets everything if it was made for an ephemeral one.
    func sessionEnded() {
        if endsWithSession, jar.withLock({ $0.removeCookies() }) { cookieReaders.send(()) }
    }
}
