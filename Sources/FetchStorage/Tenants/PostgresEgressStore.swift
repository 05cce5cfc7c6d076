package import FetchEngine
package import FetchJobs
package import Postgres

/// The operators' egress documents in PostgreSQL.
package struct PostgresEgressStore: EgressStore {
    private let client: Client

    package init(client: Client) { self.client = client }

    package func egress(of owner: Tenant.ID) async throws(StoreError) -> EgressDocument {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- egress.find
                SELECT document, version
                FROM egress
                WHERE tenant_id = \(owner)
                """
            )
            guard let row = rows.first else { return EgressDocument() }
            return try EgressDocument(stored: try row.decode(at: 0), version: try row.decode(at: 1))
        }
    }

    package func egress(
        besides known: [Tenant.ID: Int64]
    ) async throws(StoreError) -> [Tenant.ID: EgressDocument] {
        try await StoreError.wrap {
            let known = Array(known)
            let rows = try await client.query(
                """
                -- egress.list
                SELECT e.tenant_id, e.document, e.version
                FROM egress e
                LEFT JOIN unnest(\(known.map(\.key)), \(known.map(\.value))) AS known (tenant_id, version)
                    USING (tenant_id, version)
                WHERE known.version IS NULL
                """
            )
            var documents: [Tenant.ID: EgressDocument] = [:]
            for row in rows {
                documents[try row.decode(at: 0)] = try EgressDocument(
                    stored: try row.decode(at: 1), version: try row.decode(at: 2))
            }
            return documents
        }
    }

    package func replaceEgress(
        of owner: Tenant.ID, named name: String?, _ version: Int64?, with rules: TargetRules?
    ) async throws(StoreError) -> EgressDocument? {
        let text = rules.map(EgressDocument.text)
        return try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- egress.replace
                WITH stored AS (
                    INSERT INTO egress AS e (tenant_id, document, version)
                    VALUES (\(owner), \(text), 1)
                    ON CONFLICT (tenant_id) DO UPDATE
                    SET document = excluded.document, version = e.version + 1
                    WHERE \(version)::bigint IS NULL OR e.version = \(version)
                    RETURNING version
                ), changed AS (
                    UPDATE queue_state SET version = version + 1
                    WHERE EXISTS (SELECT FROM stored)
                ), \(Query.audited(
                    rules == nil ? .removeEgress : .setEgress, name, of: owner, details: rules?.summary,
                    when: "stored"))
                SELECT version
                FROM stored
                """
            )
            guard let row = rows.first else { return nil }
            try await Notifications.tell(client)
            return EgressDocument(rules, version: try row.decode(at: 0))
        }
    }
}

extension TargetRules {
    /// How much there is of it, for the audit log.
    fileprivate var summary: RawJSON {
        RawJSON(
            JSONWriter.object { writer in
                writer.member("mode", mode.rawValue)
                writer.member("allow", allow.count)
                writer.member("deny", deny.count)
            })
    }
}
