package import FetchJobs
package import Postgres

/// The nodes as their leases tell of them.
package struct PostgresNodeDirectory: NodeDirectory {
    private let client: Client
    private let node: Node.ID

    /// - Parameter node: This process.
    package init(client: Client, node: Node.ID) {
        self.client = client
        self.node = node
    }

    package func owner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> NodeAddress? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- nodes.owner
                SELECT q.node_id, n.url
                FROM queue q
                LEFT JOIN nodes n ON n.id = q.node_id AND n.lease_until > now()
                WHERE q.tenant_id = \(tenant) AND q.job_id = \(job) AND q.node_id <> \(node)
                """
            )
            return try rows.first.map { NodeAddress(id: try $0.decode(at: 0), url: try $0.decode(at: 1)) }
        }
    }

    package func node(with volume: Volume) async throws(StoreError) -> NodeAddress? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- nodes.withVolume
                SELECT id, url
                FROM nodes
                WHERE volume = \(Int64(volume.number)) AND lease_until > now() AND id <> \(node)
                ORDER BY url IS NULL, lease_until DESC
                LIMIT 1
                """
            )
            return try rows.first.map { NodeAddress(id: try $0.decode(at: 0), url: try $0.decode(at: 1)) }
        }
    }

    package func isKnown(_ volume: Volume) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            try await client.query(
                """
                -- nodes.knowVolume
                SELECT FROM nodes WHERE volume = \(Int64(volume.number))
                UNION ALL
                SELECT FROM volumes WHERE number = \(Int64(volume.number))
                """
            ).isEmpty == false
        }
    }

    /// The roles that no node has that lives; none while no node lives at all.
    package func missingRoles() async throws(StoreError) -> [NodeRole] {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- nodes.roles
                SELECT array_agg(DISTINCT role)
                FROM nodes, unnest(roles) AS role
                WHERE lease_until > now()
                """
            )
            guard let found = try rows.first?.decode([String]?.self, at: 0) else { return [] }
            return NodeRole.allCases.filter { !found.contains($0.rawValue) }
        }
    }

    /// The nodes with other volumes that live, without an address if they had time to tell one.
    ///
    /// - Parameter volume: This node's.
    package func others(than volume: Volume) async throws(StoreError) -> (any: Node.ID, silent: Node.ID?)? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- nodes.others
                SELECT id, url IS NULL AND started_at < now() - interval '10 seconds'
                FROM nodes
                WHERE volume <> \(Int64(volume.number)) AND lease_until > now()
                ORDER BY 2 DESC, id
                LIMIT 1
                """
            )
            guard let row = rows.first else { return nil }
            let id = try row.decode(Node.ID.self, at: 0)
            return (id, try row.decode(Bool.self, at: 1) ? id : nil)
        }
    }
}
