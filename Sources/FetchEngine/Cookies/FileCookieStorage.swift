import Synchronization

/// Cookies in memory and in a file, which outlive the process.
///
/// Session cookies are in memory alone: they end with the process. A change is on the disk when the method that makes
/// it returns, and the file is replaced in one step, so that a crash leaves the old or the new cookies whole. Changes
/// that come while the file is being written are written together. One storage at a time may use a file: it does not
/// see the changes that another one writes, and overwrites them.
///
/// The file holds secrets in the clear; only its owner may read it.
public final class FileCookieStorage: CookieStorage {
    private let memory: MemoryCookieStorage
    private let file: CookieFile
    /// How many changes there were.
    private let changes = Atomic<UInt64>(0)

    /// Reads the cookies of a file, or begins with none when there is no such file.
    ///
    /// - Parameters:
    ///   - path: The file; its directory must be there.
    ///   - acceptPolicy: Which cookies that servers set are taken; it is not kept in the file.
    /// - Throws: `cannotOpenFile`, or `cannotDecodeRawData` for a file that is damaged or none of cookies.
    public init(path: String, acceptPolicy: CookieAcceptPolicy = .always) throws(LoadError) {
        let file = CookieFile(path: path)
        memory = MemoryCookieStorage(try file.read(), acceptPolicy: acceptPolicy)
        self.file = file
    }

    /// Whether it has no cookie, not even an expired one.
    public var isKnownEmpty: Bool { memory.isKnownEmpty }

    /// The cookies that a request carries, in the order of its field.
    public nonisolated(nonsending) func cookies(for context: CookieContext, at now: UnixTime) async -> [Cookie] {
        await memory.cookies(for: context, at: now)
    }

    /// Takes the cookies of one answer, in order; returns for each why it was not taken.
    public nonisolated(nonsending) func store(
        _ cookies: [Cookie], from context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [CookieRejection?] {
        let reasons = await memory.store(cookies, from: context, at: now)
        if reasons.contains(nil) { try await save() }
        return reasons
    }

    /// All cookies that have not expired, in the order they were first set.
    public nonisolated(nonsending) func cookies(at now: UnixTime) async -> [Cookie] { await memory.cookies(at: now) }

    /// Takes a cookie that the program made; with the policy `never` nothing happens.
    public nonisolated(nonsending) func setCookie(_ cookie: Cookie, at now: UnixTime) async throws(LoadError) {
        await memory.setCookie(cookie, at: now)
        try await save()
    }

    /// Removes the cookie with this name, domain and path.
    public nonisolated(nonsending) func deleteCookie(_ cookie: Cookie) async throws(LoadError) {
        await memory.deleteCookie(cookie)
        try await save()
    }

    /// Removes the cookies that were first set at that time or later; `nil` removes all.
    public nonisolated(nonsending) func removeCookies(since time: UnixTime?) async throws(LoadError) {
        await memory.removeCookies(since: time)
        try await save()
    }

    /// Which cookies that servers set are taken.
    public nonisolated(nonsending) func cookieAcceptPolicy() async -> CookieAcceptPolicy {
        await memory.cookieAcceptPolicy()
    }

    /// Changes which cookies are taken, from the next answer on, for all who share the storage.
    public nonisolated(nonsending) func setCookieAcceptPolicy(_ policy: CookieAcceptPolicy) async {
        await memory.setCookieAcceptPolicy(policy)
    }

    /// An element after cookies were set or removed; changes that its reader has not seen yet are one element.
    public func cookiesChanged() -> AsyncStream<Void> { memory.cookiesChanged() }

    /// The policy, after it was changed; a reader that is late sees the newest only.
    public func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy> { memory.cookieAcceptPolicyChanged() }

    /// Brings the file up to the change just made.
    private nonisolated(nonsending) func save() async throws(LoadError) {
        let change = changes.add(1, ordering: .sequentiallyConsistent).newValue
        try await file.save(change) { [self] in
            // The number first: a change after it is read is written again.
            let number = changes.load(ordering: .sequentiallyConsistent)
            return (number, memory.allCookies.filter { !$0.isSessionOnly })
        }
    }
}
