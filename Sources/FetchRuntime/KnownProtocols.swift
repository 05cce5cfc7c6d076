package import FetchEngine
package import FetchJobs

/// The protocols that operators have registered, as a node knows them.
package typealias KnownProtocols = Known<[RegisteredProtocol]>

extension Known where Value == [RegisteredProtocol] {
    package convenience init(store: any ProtocolStore) {
        self.init([]) { _ throws(StoreError) in try await store.protocols() }
    }

    /// The protocols that load for a tenant, in the order in which they are asked.
    ///
    /// - Parameter names: The protocols of its session, in the order of its configuration; nil for all.
    package func protocols(of tenant: Tenant.ID, among names: [String]? = nil) -> [RegisteredProtocol] {
        let own = current.filter { $0.serves(tenant) }
        guard let names else { return own }
        return names.compactMap { name in own.first { $0.name == name } }
    }

    /// Whether there is one that loads for a tenant.
    package func serve(_ tenant: Tenant.ID) -> Bool { current.contains { $0.serves(tenant) } }

    /// The first that takes a URL, if any.
    package func `protocol`(
        for url: URLRecord, of tenant: Tenant.ID, among names: [String]? = nil
    ) -> RegisteredProtocol? {
        // Every hop of every load asks, so nothing is made for it.
        let protocols = current
        guard let names else { return protocols.first { $0.takes(url) && $0.serves(tenant) } }
        return names.lazy.compactMap { name in protocols.first { $0.name == name } }
            .first { $0.takes(url) && $0.serves(tenant) }
    }
}
