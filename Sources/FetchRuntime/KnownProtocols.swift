package import FetchEngine
package import FetchJobs
import Synchronization

/// The protocols that operators have registered, as a node knows them, so that loads need not ask.
///
/// It is read again when the version for all tenants has been raised, of which a node is told at once, and by its next
/// heartbeat at the latest.
package final class KnownProtocols: Sendable {
    private struct State {
        var version: Int64?
        var protocols: [RegisteredProtocol] = []
    }

    private let store: any ProtocolStore
    private let state = Mutex(State())

    package init(store: any ProtocolStore) { self.store = store }

    /// Reads the protocols, unless the version is known already.
    package func refresh(to version: Int64) async throws(StoreError) {
        guard state.withLock({ $0.version }) != version else { return }
        try await refresh()
        state.withLock { $0.version = version }
    }

    /// Reads the protocols.
    package func refresh() async throws(StoreError) {
        let protocols = try await store.protocols()
        state.withLock { $0.protocols = protocols }
    }

    /// The protocols that load for a tenant, in the order in which they are asked.
    ///
    /// - Parameter names: The protocols of its session, in the order of its configuration; nil for all.
    package func protocols(of tenant: Tenant.ID, among names: [String]? = nil) -> [RegisteredProtocol] {
        let own = state.withLock { $0.protocols }.filter { $0.serves(tenant) }
        guard let names else { return own }
        return names.compactMap { name in own.first { $0.name == name } }
    }

    /// Whether there is one that loads for a tenant.
    package func serve(_ tenant: Tenant.ID) -> Bool { state.withLock { $0.protocols }.contains { $0.serves(tenant) } }

    /// The first that takes a URL, if any.
    package func `protocol`(
        for url: URLRecord, of tenant: Tenant.ID, among names: [String]? = nil
    ) -> RegisteredProtocol? {
        // Every hop of every load asks, so nothing is made for it.
        let protocols = state.withLock { $0.protocols }
        guard let names else { return protocols.first { $0.takes(url) && $0.serves(tenant) } }
        return names.lazy.compactMap { name in protocols.first { $0.name == name } }
            .first { $0.takes(url) && $0.serves(tenant) }
    }
}
