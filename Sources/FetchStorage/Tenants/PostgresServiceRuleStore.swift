package import FetchJobs
package import Postgres

/// The rules of the service in PostgreSQL.
package struct PostgresServiceRuleStore: ServiceRuleStore {
    private let client: Client

    package init(client: Client) { self.client = client }

    package func serviceRules() async throws(StoreError) -> ServiceRules {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- service_rules.read
                SELECT rules, version
                FROM service_rules
                """
            )
            guard let row = rows.first else {
                throw PostgresError(.unexpectedResult, "The row of the service's rules is missing.")
            }
            return try ServiceRules(stored: try row.decode(at: 0), version: try row.decode(at: 1))
        }
    }

    package func replaceServiceRules(
        _ version: Int64?, with rules: [Rule]
    ) async throws(StoreError) -> ServiceRules? {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- service_rules.replace
                WITH stored AS (
                    UPDATE service_rules
                    SET rules = \(ServiceRules.list(rules)), version = version + 1
                    WHERE \(version)::bigint IS NULL OR version = \(version)
                    RETURNING version
                ), changed AS (
                    UPDATE queue_state SET version = version + 1
                    WHERE EXISTS (SELECT FROM stored)
                ), \(Query.audited(.replaceRules, when: "stored"))
                SELECT version
                FROM stored
                """
            )
            guard let row = rows.first else { return nil }
            try await Notifications.tell(client)
            return ServiceRules(rules, version: try row.decode(at: 0))
        }
    }
}
