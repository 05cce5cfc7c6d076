package import FetchJobs
import Synchronization

/// The registered protocols of a test, in memory: the second form of ``ProtocolStore``.
package final class MemoryProtocolStore: ProtocolStore {
    private let state = Mutex<[RegisteredProtocol]>([])

    package init() {}

    package func protocols() async throws(StoreError) -> [RegisteredProtocol] {
        state.withLock { $0.sorted(by: RegisteredProtocol.isAskedFirst) }
    }

    package func register(
        _ new: RegisteredProtocol
    ) async throws(StoreError) -> (protocol: RegisteredProtocol, isNew: Bool) {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.name == new.name }) else {
                state.append(new)
                return (new, true)
            }
            var changed = new
            changed.secret = state[index].secret
            changed.previousSecret = state[index].previousSecret
            changed.registeredAt = state[index].registeredAt
            state[index] = changed
            return (changed, false)
        }
    }

    package func rotate(
        _ rotation: SecretRotation, ofProtocol name: String
    ) async throws(StoreError) -> RegisteredProtocol? {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.name == name }) else { return nil }
            state[index] = rotation.applied(to: state[index], at: .now)
            return state[index]
        }
    }

    package func remove(_ name: String) async throws(StoreError) -> Bool {
        state.withLock { state in
            let count = state.count
            state.removeAll { $0.name == name }
            return state.count < count
        }
    }
}
