package import FetchJobs
package import Postgres

/// The groups in PostgreSQL.
package struct PostgresGroupStore: GroupStore {
    let client: Client

    package init(client: Client) { self.client = client }

    package func create(
        _ group: JobGroup, _ idempotency: Idempotency?
    ) async throws(StoreError) -> Creation<JobGroup> {
        let key = CreationKey(idempotency)
        return try await StoreError.wrap {
            let creation = try await key.create(
                group.id, of: group.tenant, in: ("groups", "g"), JobGroup.columns,
                by: """
                    INSERT INTO groups AS g (tenant_id, id, spec, endpoint_id, created_at)
                    SELECT \(group.tenant), \(group.id), \(RawJSON(group.spec.json)),
                        coalesce(\(group.spec.webhook?.endpoint), \(Query.defaultEndpoint(of: "\(group.tenant)"))),
                        \(group.createdAt)
                    """,
                client: client)
            return try await creation.map { try JobGroup(row: $0) }
        }
    }

    package func group(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> JobGroup? {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- groups.find
                SELECT \(JobGroup.columns)
                FROM groups g
                WHERE g.tenant_id = \(tenant) AND g.id = \(id)
                """
            )
            return try rows.first.map { try JobGroup(row: $0) }
        }
    }

    package func groups(
        of tenant: Tenant.ID, after group: JobGroup.ID?, limit: Int
    ) async throws(StoreError) -> [JobGroup] {
        let start = group ?? JobGroup.ID(UUIDv7(high: .max, low: .max))
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- groups.list
                SELECT \(JobGroup.columns)
                FROM groups g
                WHERE g.tenant_id = \(tenant) AND g.id < \(start)
                ORDER BY g.id DESC
                LIMIT \(limit)
                """
            )
            return try rows.map { try JobGroup(row: $0) }
        }
    }

    package func counts(
        of group: JobGroup.ID, tenant: Tenant.ID
    ) async throws(StoreError) -> [JobState: Int64] {
        try await StoreError.wrap {
            let queue: Query =
                client.isSharded
                ? "(SELECT * FROM queue WHERE tenant_id = \(tenant) AND group_id = \(group))" : "queue"
            let rows = try await client.ofJobs(of: tenant).query(
                """
                -- groups.counts
                SELECT \(Query.jobState), count(*)
                FROM jobs j
                LEFT JOIN \(queue) q ON q.tenant_id = j.tenant_id AND q.job_id = j.id
                LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
                WHERE j.tenant_id = \(tenant) AND j.group_id = \(group)
                GROUP BY 1
                """
            )
            let counts = try rows.map { (try $0.decode(JobState.self, at: 0), try $0.decode(Int64.self, at: 1)) }
            return Dictionary(uniqueKeysWithValues: counts)
        }
    }

    package func remove(_ id: JobGroup.ID, of tenant: Tenant.ID) async throws(StoreError) -> Bool {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- groups.remove
                WITH removed AS (
                    DELETE FROM groups
                    WHERE tenant_id = \(tenant) AND id = \(id) AND finished_at IS NOT NULL
                    RETURNING id
                ), abandoned AS (
                    UPDATE webhook_deliveries d
                    SET state = 'abandoned'
                    FROM removed r
                    WHERE d.tenant_id = \(tenant) AND d.group_id = r.id AND d.state = 'pending'
                ), \(Query.audited(.removeGroup, id.description, of: tenant, when: "removed"))
                SELECT id FROM removed
                """
            )
            return !rows.isEmpty
        }
    }
}

extension JobGroup {
    fileprivate static let columns: Query = "g.tenant_id, g.id, g.spec, g.created_at, g.closed_at, g.finished_at"

    fileprivate init(row: Row) throws {
        self.init(
            id: try row.decode(at: 1),
            tenant: try row.decode(at: 0),
            // The same reader checked the spec when it came in.
            spec: try JobGroupSpec(json: try JSONParser.parse(try row.decode(RawJSON.self, at: 2).bytes)),
            createdAt: try row.decode(at: 3)
        )
        closedAt = try row.decode(at: 4)
        finishedAt = try row.decode(at: 5)
    }
}
