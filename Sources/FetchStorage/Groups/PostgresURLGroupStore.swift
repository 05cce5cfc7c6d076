package import FetchJobs
package import Postgres

/// The URL groups in PostgreSQL: rows of endpoints.
package struct PostgresURLGroupStore: URLGroupStore {
    private let client: Client

    package init(client: Client) { self.client = client }

    package func urlGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError) -> URLGroup? {
        try await urlGroups(of: tenant, where: "g.group_name = \(name)").first
    }

    package func urlGroups(of tenant: Tenant.ID) async throws(StoreError) -> [URLGroup] {
        try await urlGroups(of: tenant, where: "true")
    }

    private func urlGroups(of tenant: Tenant.ID, where condition: Query) async throws(StoreError) -> [URLGroup] {
        try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- urlGroups.find
                SELECT g.group_name, g.url, g.name, g.created_at, g.updated_at
                FROM url_group_endpoints g
                WHERE g.tenant_id = \(tenant) AND \(condition)
                ORDER BY g.group_name, g.created_at, g.url
                """
            )
            var groups: [URLGroup] = []
            for row in rows {
                let name = try row.decode(String.self, at: 0)
                let (created, updated) = (try row.decode(Timestamp.self, at: 3), try row.decode(Timestamp.self, at: 4))
                let last = groups.last?.name == name ? groups.removeLast() : nil
                let endpoint = URLGroup.Endpoint(url: try row.decode(at: 1), name: try row.decode(at: 2))
                groups.append(
                    URLGroup(
                        name: name, createdAt: min(last?.createdAt ?? created, created),
                        updatedAt: max(last?.updatedAt ?? updated, updated),
                        endpoints: (last?.endpoints ?? []) + [endpoint]))
            }
            return groups
        }
    }

    package func add(
        _ endpoints: [URLGroup.Endpoint], toURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Bool {
        guard !endpoints.isEmpty else { return true }
        return try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- urlGroups.add
                WITH input AS MATERIALIZED (
                    SELECT DISTINCT ON (url) url, name
                    FROM unnest(\(endpoints.map(\.url)), \(endpoints.map(\.name))) WITH ORDINALITY
                        AS input (url, name, place)
                    ORDER BY url, place DESC
                ), room AS MATERIALIZED (
                    SELECT count(*) FILTER (WHERE g.group_name = \(name)) + (SELECT count(*) FROM input)
                            <= \(Int64(URLGroup.maximumEndpoints))
                        AND count(*) + (SELECT count(*) FROM input) <= \(Int64(URLGroup.maximumEndpointsOfTenant))
                        AS is_there
                    FROM url_group_endpoints g
                    WHERE g.tenant_id = \(tenant)
                        AND NOT (g.group_name = \(name) AND g.url IN (SELECT url FROM input))
                ), replaced AS (
                    DELETE FROM url_group_endpoints g
                    USING input, room
                    WHERE room.is_there AND g.tenant_id = \(tenant) AND g.group_name = \(name)
                        AND g.name = input.name AND g.url NOT IN (SELECT url FROM input)
                ), added AS (
                    INSERT INTO url_group_endpoints AS known (tenant_id, group_name, url, name)
                    SELECT \(tenant), \(name), input.url, input.name
                    FROM input, room
                    WHERE room.is_there
                    ON CONFLICT (tenant_id, group_name, url)
                        DO UPDATE SET name = coalesce(excluded.name, known.name), updated_at = now()
                    RETURNING url
                ), \(Query.audited(.changeURLGroup, name, of: tenant, when: "added"))
                SELECT FROM added
                """
            ).affected > 0
        }
    }

    package func remove(
        urls: [String], names: [String], fromURLGroup name: String, of tenant: Tenant.ID
    ) async throws(StoreError) -> Int {
        try await remove(
            name, of: tenant, .changeURLGroup, where: "(g.url = ANY (\(urls)) OR g.name = ANY (\(names)))")
    }

    package func removeURLGroup(_ name: String, of tenant: Tenant.ID) async throws(StoreError) {
        _ = try await remove(name, of: tenant, .removeURLGroup, where: "true")
    }

    private func remove(
        _ name: String, of tenant: Tenant.ID, _ action: AuditAction, where condition: Query
    ) async throws(StoreError) -> Int {
        try await StoreError.wrap {
            try await client.of(tenant).query(
                """
                -- urlGroups.remove
                WITH removed AS (
                    DELETE FROM url_group_endpoints g
                    WHERE g.tenant_id = \(tenant) AND g.group_name = \(name) AND \(condition)
                    RETURNING g.url
                ), \(Query.audited(action, name, of: tenant, when: "removed"))
                SELECT FROM removed
                """
            ).affected
        }
    }
}
