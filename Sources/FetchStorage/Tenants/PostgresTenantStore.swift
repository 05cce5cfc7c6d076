package import FetchJobs
package import Postgres

/// The tenants, as operators see them.
package struct PostgresTenantStore: Sendable {
    /// A tenant and its share of the service.
    package struct Entry: Sendable {
        package let tenant: Tenant
        /// How many jobs it is given in its turn, while others wait.
        package let weight: Int
        /// How many of its jobs may wait; nil for what the nodes are set to.
        package let maximumWaitingJobs: Int?
        package let isPaused: Bool
        /// How many bytes of bodies a second its jobs may move; nil for any number.
        package let maximumBytesPerSecond: Int64?
        package let createdAt: Timestamp
    }

    /// What an operator changes; nil for what stays.
    package struct Change: Sendable {
        package static let weights = 1...100

        /// One of ``weights``.
        package var weight: Int?
        package var maximumWaitingJobs: Quota?

        package init(weight: Int? = nil, maximumWaitingJobs: Quota? = nil) {
            self.weight = weight
            self.maximumWaitingJobs = maximumWaitingJobs
        }
    }

    /// How much a tenant may have of something.
    package enum Quota: Sendable {
        package static let numbers = 1...1_000_000_000

        /// As much as the nodes are set to.
        case standard
        /// One of ``numbers``.
        case own(Int)

        fileprivate var own: Int64? { if case .own(let number) = self { Int64(number) } else { nil } }
    }

    private let client: Client

    package init(client: Client) { self.client = client }

    /// All of them, the oldest first.
    package func tenants() async throws(StoreError) -> [Entry] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.list
                SELECT \(Entry.columns) FROM tenants ORDER BY id
                """
            )
            return try rows.map { try Entry(row: $0) }
        }
    }

    /// Changes a tenant's share; running nodes hear of it at once.
    ///
    /// - Returns: The tenant as it is then, or nil when there is none of this name.
    package func change(_ change: Change, ofTenant name: String) async throws(StoreError) -> Entry? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.change
                WITH changed AS (
                    UPDATE queue_state SET version = version + 1
                )
                UPDATE tenants
                SET weight = coalesce(\(change.weight.map { Int16(clamping: $0) }), weight),
                    maximum_waiting_jobs = CASE
                        WHEN \(change.maximumWaitingJobs == nil) THEN maximum_waiting_jobs
                        ELSE \(change.maximumWaitingJobs?.own)
                    END
                WHERE name = \(name)
                RETURNING \(Entry.columns)
                """
            )
            try await Notices.tell(client)
            return try rows.first.map { try Entry(row: $0) }
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

extension PostgresTenantStore.Entry {
    fileprivate static let columns: Query =
        "id, name, weight, maximum_waiting_jobs, paused, bytes_per_second, created_at"

    fileprivate init(row: Row) throws {
        self.init(
            tenant: Tenant(id: try row.decode(at: 0), name: try row.decode(at: 1)),
            weight: Int(try row.decode(Int16.self, at: 2)),
            maximumWaitingJobs: try row.decode(Int64?.self, at: 3).map { Int($0) },
            isPaused: try row.decode(at: 4),
            maximumBytesPerSecond: try row.decode(at: 5),
            createdAt: try row.decode(at: 6)
        )
    }
}
