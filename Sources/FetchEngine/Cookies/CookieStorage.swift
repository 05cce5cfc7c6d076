/// Where a session keeps cookies and takes them from.
///
/// Several sessions, and single tasks, may share one. A storage applies the rules of ``CookieJar``; the memory form is
/// ``MemoryCookieStorage``. A method that throws fails the load that asked; one that waits has a time limit of its own,
/// because the load's do not count while a storage is asked.
public protocol CookieStorage: AnyObject, Sendable {
    /// Whether it has no cookie for any request, as far as it knows without looking for one.
    ///
    /// A load then does not ask for cookies. The default is `false`.
    var isKnownEmpty: Bool { get }

    /// The cookies that a request carries, in the order of its field.
    nonisolated(nonsending) func cookies(
        for context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [Cookie]

    /// Takes the cookies of one answer, in order.
    ///
    /// - Returns: For each of them why it was not taken, or `nil`.
    nonisolated(nonsending) func store(
        _ cookies: [Cookie], from context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [CookieRejection?]

    /// All cookies that have not expired, in the order they were first set.
    nonisolated(nonsending) func cookies(at now: UnixTime) async throws(LoadError) -> [Cookie]

    /// Takes a cookie that the program made, in place of the one with its name, domain and path.
    ///
    /// With the policy `never` nothing happens.
    nonisolated(nonsending) func setCookie(_ cookie: Cookie, at now: UnixTime) async throws(LoadError)

    /// Removes the cookie with this name, domain and path; nothing happens when there is none.
    nonisolated(nonsending) func deleteCookie(_ cookie: Cookie) async throws(LoadError)

    /// Removes the cookies that were first set at that time or later; `nil` removes all.
    nonisolated(nonsending) func removeCookies(since time: UnixTime?) async throws(LoadError)

    /// Which cookies that servers set are taken.
    nonisolated(nonsending) func cookieAcceptPolicy() async throws(LoadError) -> CookieAcceptPolicy

    /// Changes which cookies are taken, from the next answer on, for all who share the storage.
    nonisolated(nonsending) func setCookieAcceptPolicy(_ policy: CookieAcceptPolicy) async throws(LoadError)

    /// An element after cookies were set or removed.
    ///
    /// Changes that its reader has not seen yet are one element.
    func cookiesChanged() -> AsyncStream<Void>

    /// The policy, after it was changed.
    ///
    /// A reader that is late sees the newest only.
    func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy>
}

extension CookieStorage {
    /// `false`: it has to be asked.
    public var isKnownEmpty: Bool { false }

    /// All cookies that have not expired, in the order they were first set.
    public nonisolated(nonsending) func cookies() async throws(LoadError) -> [Cookie] { try await cookies(at: .now) }

    /// The cookies that a request for a URL carries now, in the order of its field.
    public nonisolated(nonsending) func cookies(
        for url: URLRecord, mainDocumentURL: URLRecord? = nil
    ) async throws(LoadError) -> [Cookie] {
        try await cookies(for: CookieContext(url: url, mainDocumentURL: mainDocumentURL), at: .now)
    }

    /// Takes a cookie that the program made.
    public nonisolated(nonsending) func setCookie(_ cookie: Cookie) async throws(LoadError) {
        try await setCookie(cookie, at: .now)
    }

    /// Reads the `Set-Cookie` fields of a response, keeps the accepted cookies, and returns a verdict on each.
    public nonisolated(nonsending) func store(
        _ verdicts: [CookieVerdict], from context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [CookieVerdict] {
        let cookies = verdicts.compactMap { verdict in
            if case .accepted(let cookie) = verdict { cookie } else { nil }
        }
        guard !cookies.isEmpty else { return verdicts }
        var reasons = try await store(cookies, from: context, at: now)[...]
        return verdicts.map { verdict in
            guard verdict.rejection == nil, let reason = reasons.popFirst() ?? nil else { return verdict }
            return .rejected(name: verdict.name, reason)
        }
    }
}
