package import FetchJobs
import Synchronization

/// The revocations of a test, in memory: the second form of ``TokenRevocationStore``.
package final class MemoryTokenRevocationStore: TokenRevocationStore {
    private let state = Mutex<[TokenRevocation]>([])

    package init() {}

    /// Revokes the tokens of a subject as of a moment.
    package func revoke(subject: String, at seconds: Int64) {
        _ = revoke(.subject(subject), at: Timestamp(microseconds: seconds * 1_000_000))
    }

    package func revoke(_ target: TokenRevocation.Target) async throws(StoreError) -> TokenRevocation {
        revoke(target, at: .now)
    }

    private func revoke(_ target: TokenRevocation.Target, at time: Timestamp) -> TokenRevocation {
        state.withLock { all in
            let known = all.firstIndex { $0.target == target }
            let id = known.map { all[$0].id } ?? TokenRevocation.ID()
            let revocation = TokenRevocation(id: id, target: target, revokedAt: time)
            if let known { all[known] = revocation } else { all.append(revocation) }
            return revocation
        }
    }

    package func isRevoked(_ token: TokenIdentity) async throws(StoreError) -> Bool {
        state.withLock { all in
            all.contains { revocation in
                switch revocation.target {
                case .token(let id): return id == token.id
                case .subject(let subject):
                    let latest = revocation.revokedAt.seconds + TokenRevocation.leeway
                    return subject == token.subject && token.issuedAt.map { $0 <= latest } ?? true
                }
            }
        }
    }

    package func revocations(
        after id: TokenRevocation.ID?, limit: Int
    ) async throws(StoreError) -> [TokenRevocation] {
        let all = state.withLock { $0 }.sorted { $0.id < $1.id }
        return Array(all.filter { revocation in id.map { revocation.id > $0 } ?? true }.prefix(limit))
    }

    package func restore(_ id: TokenRevocation.ID) async throws(StoreError) -> Bool {
        state.withLock { all in
            let count = all.count
            all.removeAll { $0.id == id }
            return all.count < count
        }
    }
}
