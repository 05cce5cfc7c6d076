package import FetchJobs
import Synchronization

/// The revocations of a test, in memory: the second form of ``TokenRevocationStore``.
package final class MemoryTokenRevocationStore: TokenRevocationStore {
    private struct State {
        var tokens: Set<String> = []
        /// When those of a subject were revoked, in seconds.
        var subjects: [String: Int64] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func revoke(token id: String) { state.withLock { _ = $0.tokens.insert(id) } }

    package func revoke(subject: String, at seconds: Int64) { state.withLock { $0.subjects[subject] = seconds } }

    package func isRevoked(_ token: TokenIdentity) async throws(StoreError) -> Bool {
        state.withLock { state in
            if let id = token.id, state.tokens.contains(id) { return true }
            guard let time = state.subjects[token.subject] else { return false }
            return token.issuedAt.map { $0 <= time + TokenRevocation.leeway } ?? true
        }
    }
}
