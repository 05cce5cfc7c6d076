package import FetchJobs
package import Postgres

/// The tenants in PostgreSQL.
package struct PostgresTenantStore: TenantStore {
    let client: Client

    package init(client: Client) { self.client = client }

    package func tenants(after tenant: Tenant.ID?, limit: Int) async throws(StoreError) -> [TenantShare] {
        let start = tenant ?? Tenant.ID(rawValue: .min)
        return try await StoreError.wrap {
            try await client.query(
                """
                -- tenants.list
                SELECT \(TenantShare.columns) FROM tenants WHERE id > \(start) ORDER BY id LIMIT \(limit)
                """
            ).map { try TenantShare(row: $0) }
        }
    }

    package func tenant(named name: String) async throws(StoreError) -> TenantShare? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.find
                SELECT \(TenantShare.columns) FROM tenants WHERE name = \(name)
                """
            )
            return try rows.first.map { try TenantShare(row: $0) }
        }
    }

    package func change(_ change: TenantChange, ofTenant name: String) async throws(StoreError) -> TenantShare? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.change
                WITH changed AS (
                    UPDATE queue_state SET version = version + 1
                ), tenant AS (
                UPDATE tenants
                SET weight = coalesce(\(change.weight.map { Int16(clamping: $0) }), weight)
                    \(Self.assignments(of: change.limits))
                WHERE name = \(name)
                RETURNING *, id AS tenant_id
                ), \(Query.audited(.changeTenant, name, details: change.details, ofTenantIn: "tenant"))
                SELECT \(TenantShare.columns) FROM tenant
                """
            )
            try await Notifications.tell(client)
            return try rows.first.map { try TenantShare(row: $0) }
        }
    }

    /// Each with a comma before it.
    private static func assignments(of changes: [TenantLimit: TenantChange.Limit]) -> Query {
        TenantLimit.allCases.reduce("") { assignments, limit in
            let change = changes[limit]
            return """
                \(assignments), \(limit.column) =
                    CASE WHEN \(change == nil) THEN \(limit.column) ELSE \(change?.number) END
                """
        }
    }

    package func ownLimits() async throws(StoreError) -> [Tenant.ID: TenantLimits] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- tenants.limits
                SELECT id\(TenantLimit.columns) FROM tenants WHERE num_nonnulls(NULL\(TenantLimit.columns)) > 0
                """
            )
            return try rows.reduce(into: [:]) { limits, row in
                limits[try row.decode(Tenant.ID.self, at: 0)] = try TenantLimits(row: row, at: 1)
            }
        }
    }

    // MARK: Pausing

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
                    RETURNING 0 AS tenant_id
                ), tenant AS (
                    UPDATE tenants SET paused = \(isPaused) WHERE name = \(name) RETURNING id AS tenant_id
                ), \(Query.audited(
                    isPaused ? .pauseQueue : .resumeQueue, name,
                    ofTenantIn: name == nil ? "changed" : "tenant"))
                SELECT 1 FROM tenant
                """
            ).affected
            try await Notifications.tell(client)
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
                    RETURNING 0 AS tenant_id
                ), tenant AS (
                    UPDATE tenants SET bytes_per_second = \(bytesPerSecond) WHERE name = \(name)
                    RETURNING id AS tenant_id
                ), \(Query.audited(
                    .limitQueue, name, ofTenantIn: name == nil ? "changed" : "tenant"))
                SELECT 1 FROM tenant
                """
            ).affected
            try await Notifications.tell(client)
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

extension TenantShare {
    fileprivate static let columns: Query =
        "id, name, weight, paused, created_at\(TenantLimit.columns)"

    fileprivate init(row: Row) throws {
        self.init(
            tenant: Tenant(id: try row.decode(at: 0), name: try row.decode(at: 1)),
            weight: Int64(try row.decode(Int16.self, at: 2)),
            limits: try TenantLimits(row: row, at: 5),
            isPaused: try row.decode(at: 3),
            createdAt: try row.decode(at: 4)
        )
    }
}

extension TenantLimit {
    fileprivate var column: Query {
        switch self {
        case .maximumRequestsPerSecond: "maximum_requests_per_second"
        case .maximumWaitingJobs: "maximum_waiting_jobs"
        case .maximumRunningJobs: "maximum_running_jobs"
        case .maximumBytesPerSecond: "bytes_per_second"
        case .maximumBytesPerDay: "maximum_bytes_per_day"
        case .maximumStoredBytes: "maximum_stored_bytes"
        case .maximumSessions: "maximum_sessions"
        case .maximumOpenQuestions: "maximum_open_questions"
        }
    }

    /// Those of all limits, each with a comma before it.
    fileprivate static let columns: Query = allCases.reduce("") { "\($0), \($1.column)" }
}

extension TenantLimits {
    /// - Parameter index: Where the row has the first of ``TenantLimit/columns``.
    fileprivate init(row: Row, at index: Int) throws {
        self.init()
        for (offset, limit) in TenantLimit.allCases.enumerated() {
            self[limit] = try row.decode(Int64?.self, at: index + offset)
        }
    }
}
