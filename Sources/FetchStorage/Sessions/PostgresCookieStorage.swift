import FetchEngine
import FetchJobs
import Synchronization

/// The cookies of one session, as all nodes share them.
///
/// A node keeps them in memory. It reads them again when a job or a write of its own shows that another has written.
/// Writes are in the database before they are reported.
final class PostgresCookieStorage: CookieStorage {
    private struct State {
        var jar = CookieJar.noting()
        /// The version that is in memory; none at first.
        var known: Int64 = -1
        /// The newest version that there is, as far as this node has heard.
        var newest: Int64 = 0
    }

    let session: SessionAddress
    private let table: CookieTable
    private let state = Mutex(State())
    private let reading: Batcher<Void, CookieTable.Contents>
    private let cookieReaders = Broadcast<Void>()
    private let policyReaders = Broadcast<CookieAcceptPolicy>()

    init(of session: SessionAddress, in table: CookieTable) {
        self.session = session
        self.table = table
        // Those who find the memory old at the same time share one look.
        reading = Batcher(maximumItems: .max) { callers in
            let contents = try await table.read(session)
            return callers.map { contents }
        }
    }

    // MARK: Versions

    /// Answers later requests from this version, or a newer one.
    func require(_ version: Int64) { state.withLock { $0.newest = max($0.newest, version) } }

    /// A write of this node has been stored.
    func committed(_ version: Int64, _ changes: [CookieChange]) {
        state.withLock { state in
            // Once more: cookies that were read in the meantime may have been older than the write.
            state.jar.apply(changes)
            // Nobody else has written in between.
            if version == state.known + 1 { state.known = version }
            state.newest = max(state.newest, version)
        }
        if !changes.isEmpty { cookieReaders.send(()) }
    }

    /// Reads the cookies of the database.
    nonisolated(nonsending) func refresh() async throws {
        guard let contents = try await reading.submit([()]).first else { return }
        guard state.withLock({ contents.version > $0.known }) else { return }
        var jar = CookieJar.noting()
        jar.apply(contents.changes)
        jar.acceptPolicy = contents.acceptPolicy
        let isOtherPolicy = state.withLock { state -> Bool? in
            guard contents.version > state.known else { return nil }
            defer { state.jar = jar }
            state.known = contents.version
            state.newest = max(state.newest, contents.version)
            return state.jar.acceptPolicy != jar.acceptPolicy
        }
        guard let isOtherPolicy else { return }
        cookieReaders.send(())
        if isOtherPolicy { policyReaders.send(contents.acceptPolicy) }
    }

    // MARK: The jar

    /// Asks or changes the cookies as they are now; changes are stored before this returns.
    nonisolated(nonsending) func withJar<Value: Sendable>(
        _ body: @Sendable (inout CookieJar) -> Value
    ) async throws -> Value {
        if state.withLock({ $0.known < $0.newest }) { try await refresh() }
        let (value, changes) = state.withLock { state in (body(&state.jar), state.jar.takeChanges()) }
        do { try await table.write(changes, to: session) } catch {
            // They are in memory and perhaps nowhere else.
            state.withLock { $0.known = -1 }
            throw error
        }
        return value
    }

    private nonisolated(nonsending) func inLoad<Value: Sendable>(
        _ body: @Sendable (inout CookieJar) -> Value
    ) async throws(LoadError) -> Value {
        do { return try await withJar(body) } catch { throw Self.unreachable }
    }

    private static let unreachable = LoadError(.resourceUnavailable, "The cookies of the session cannot be reached.")

    // MARK: CookieStorage

    nonisolated(nonsending) func cookies(
        for context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [Cookie] {
        try await inLoad { $0.cookies(for: context, at: now) }
    }

    nonisolated(nonsending) func store(
        _ cookies: [Cookie], from context: CookieContext, at now: UnixTime
    ) async throws(LoadError) -> [CookieRejection?] {
        try await inLoad { jar in
            cookies.map { cookie -> CookieRejection? in
                do throws(CookieRejection) {
                    try jar.store(cookie, from: context, at: now)
                    return nil
                } catch {
                    return error
                }
            }
        }
    }

    nonisolated(nonsending) func cookies(at now: UnixTime) async throws(LoadError) -> [Cookie] {
        try await inLoad { $0.cookies(at: now) }
    }

    nonisolated(nonsending) func setCookie(_ cookie: Cookie, at now: UnixTime) async throws(LoadError) {
        // The policy may refuse it, as documented.
        try await inLoad { jar in _ = try? jar.set(cookie, at: now) }
    }

    nonisolated(nonsending) func deleteCookie(_ cookie: Cookie) async throws(LoadError) {
        try await inLoad { _ = $0.remove(cookie) }
    }

    nonisolated(nonsending) func removeCookies(since time: UnixTime?) async throws(LoadError) {
        try await inLoad { _ = $0.removeCookies(since: time) }
    }

    nonisolated(nonsending) func cookieAcceptPolicy() async throws(LoadError) -> CookieAcceptPolicy {
        try await inLoad { $0.acceptPolicy }
    }

    nonisolated(nonsending) func setCookieAcceptPolicy(_ policy: CookieAcceptPolicy) async throws(LoadError) {
        do { require(try await table.setAcceptPolicy(policy, of: session)) } catch { throw Self.unreachable }
        _ = try await cookieAcceptPolicy()
    }

    func cookiesChanged() -> AsyncStream<Void> { cookieReaders.stream() }

    func cookieAcceptPolicyChanged() -> AsyncStream<CookieAcceptPolicy> { policyReaders.stream() }
}

extension CookieJar {
    /// Repeats a change that was made elsewhere, without the record of changes.
    fileprivate mutating func apply(_ changes: [CookieChange]) {
        let policy = acceptPolicy
        // It has been asked where they were made.
        acceptPolicy = .always
        defer { acceptPolicy = policy }
        for change in changes {
            switch change {
            // Nothing counts as expired: the reader decides about the time.
            case .set(let cookie): try? set(cookie, at: cookie.creationTime)
            case .remove(let cookie): remove(cookie)
            }
        }
        _ = takeChanges()
    }
}
