package import FetchJobs
package import Postgres

/// The tenants, as operators see them.
package struct PostgresTenantStore: Sendable {
    /// A tenant and its share of the service.
    package struct Entry: Sendable {
        package let tenant: Tenant
        /// How many jobs it is given in its turn, while others wait.
        package let weight: Int
        package let createdAt: Timestamp
    }

    package static let weights = 1...100

    private let client: Client

    package init(client: Client) { self.client = client }

    /// All of them, the oldest first.
    package func tenants() async throws(StoreError) -> [Entry] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.list
                SELECT id, name, weight, created_at FROM tenants ORDER BY id
                """
            )
            return try rows.map { row in
                Entry(
                    tenant: Tenant(id: try row.decode(at: 0), name: try row.decode(at: 1)),
                    weight: Int(try row.decode(Int16.self, at: 2)),
                    createdAt: try row.decode(at: 3)
                )
            }
        }
    }

    /// Nodes go by it from the next job of the tenant on.
    ///
    /// - Parameter weight: One of ``weights``.
    /// - Returns: false when there is no tenant of this name.
    package func setWeight(_ weight: Int, ofTenant name: String) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- tenants.setWeight
                UPDATE tenants SET weight = \(Int16(clamping: weight)) WHERE name = \(name)
                """
            ).affected > 0
        }
    }
}
