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
}
