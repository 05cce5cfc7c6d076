package import FetchJobs
package import Postgres

/// The tenants, as operators see them.
package struct PostgresTenantStore: Sendable {
    /// A tenant and its share of the service.
    package struct Entry: Sendable {
        package let tenant: Tenant
        /// How many jobs it is given in its turn, while others wait.
        package let weight: Int
        package let isPaused: Bool
        /// How many bytes of bodies a second its jobs may move; nil for any number.
        package let maximumBytesPerSecond: Int64?
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
                SELECT id, name, weight, paused, bytes_per_second, created_at FROM tenants ORDER BY id
                """
            )
            return try rows.map { row in
                Entry(
                    tenant: Tenant(id: try row.decode(at: 0), name: try row.decode(at: 1)),
                    weight: Int(try row.decode(Int16.self, at: 2)),
                    isPaused: try row.decode(at: 3),
                    maximumBytesPerSecond: try row.decode(at: 4),
                    createdAt: try row.decode(at: 5)
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

    /// Starts none of a tenant's jobs any more, or goes on; running jobs go on.
    ///
    /// - Parameter name: Nil for the jobs of all tenants.
    /// - Returns: false when there is no tenant of this name.
    package func setPaused(_ isPaused: Bool, ofTenant name: String?) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let count = try await client.query(
                """
                -- queue.pause
                WITH changed AS (
                    UPDATE queue_state
                    SET version = version + 1, paused = CASE WHEN \(name == nil) THEN \(isPaused) ELSE paused END
                )
                UPDATE tenants SET paused = \(isPaused) WHERE name = \(name)
                """
            ).affected
            try await Notices.tell(client)
            return name == nil || count > 0
        }
    }

    /// Bounds how many bytes of bodies a second a tenant's jobs move in each direction, on all nodes together.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: Nil for any number.
    ///   - name: Nil for the jobs of all tenants together.
    /// - Returns: false when there is no tenant of this name.
    package func setBandwidth(_ bytesPerSecond: Int64?, ofTenant name: String?) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let count = try await client.query(
                """
                -- queue.limit
                WITH changed AS (
                    UPDATE queue_state
                    SET version = version + 1,
                        bytes_per_second =
                            CASE WHEN \(name == nil) THEN \(bytesPerSecond) ELSE bytes_per_second END
                )
                UPDATE tenants SET bytes_per_second = \(bytesPerSecond) WHERE name = \(name)
                """
            ).affected
            try await Notices.tell(client)
            return name == nil || count > 0
        }
    }

    /// Whether the jobs of all tenants are paused.
    package func isPaused() async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query("SELECT paused FROM queue_state").first?.decode(Bool.self, at: 0) ?? false
        }
    }
}
