package import FetchEngine
package import FetchJobs
import Synchronization

/// The cookies of a test's sessions, in memory: the second form of ``CookieCatalog``.
package final class MemoryCookieCatalog: CookieCatalog {
    private let jars = Mutex<[SessionAddress: CookieJar]>([:])

    package init() {}

    package func cookies(of session: SessionAddress) async throws(StoreError) -> [Cookie] {
        jars.withLock { $0[session]?.cookies(at: .now) ?? [] }
    }

    package func set(_ cookies: [Cookie], in session: SessionAddress) async throws(StoreError) {
        jars.withLock { jars in
            for cookie in cookies { try? jars[session, default: CookieJar()].set(cookie, at: .now) }
        }
    }

    package func remove(_ cookies: [Cookie], from session: SessionAddress) async throws(StoreError) {
        jars.withLock { jars in
            for cookie in cookies { jars[session]?.remove(cookie) }
        }
    }
}
