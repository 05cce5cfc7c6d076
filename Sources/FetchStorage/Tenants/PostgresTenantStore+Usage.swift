package import FetchJobs
import Postgres

extension PostgresTenantStore {
    package func usage(of tenant: Tenant.ID) async throws(StoreError) -> TenantUsage {
        // By the keys and indices that begin with the tenant.
        let sessions: Query = "sessions s WHERE s.tenant_id = \(tenant) AND s.ended_at IS NULL ORDER BY s.id"
        let questions: Query = """
            questions a
            WHERE a.tenant_id = \(tenant) AND a.state = 'open' AND a.deadline > now()
            ORDER BY a.id
            """
        return try await StoreError.wrap {
            let rows = try await client.of(tenant).query(
                """
                -- usage.read
                WITH running AS (
                    SELECT count(*) AS jobs FROM queue q WHERE q.tenant_id = \(tenant) AND q.node_id IS NOT NULL
                )
                SELECT
                    -- All but those that run: the key alone tells, without a look at a hundred thousand rows.
                    (
                        SELECT count(*) - (SELECT jobs FROM running)
                        FROM (
                            SELECT
                            FROM queue q
                            WHERE q.tenant_id = \(tenant)
                            ORDER BY q.job_id
                            LIMIT \(Int64(TenantUsage.countLimit)) + (SELECT jobs FROM running)
                        ) AS one
                    ),
                    (SELECT jobs FROM running),
                    (\(Self.count(sessions))),
                    (\(Self.count(questions))),
                    (\(Query.storedBytes(of: "\(tenant)"))),
                    coalesce(t.sent_bytes, 0), coalesce(t.received_bytes, 0),
                    (\(Query.dayOfUTC) + 1)::timestamp AT TIME ZONE 'UTC'
                FROM (\(Query.trafficOfDay(of: "\(tenant)"))) AS t
                """
            )
            guard let row = rows.first else { throw StoreError(.failed, "The usage has no answer.") }
            var usage = TenantUsage(dayEnd: try row.decode(at: 7))
            usage.waitingJobs = try row.decode(at: 0)
            usage.runningJobs = try row.decode(at: 1)
            usage.sessions = try row.decode(at: 2)
            usage.openQuestions = try row.decode(at: 3)
            usage.storedBytes = try row.decode(at: 4)
            usage.traffic = Traffic(sentBytes: try row.decode(at: 5), receivedBytes: try row.decode(at: 6))
            return usage
        }
    }

    /// Counts the first rows of a table, as many as are counted.
    private static func count(_ rows: Query) -> Query {
        "SELECT count(*) FROM (SELECT FROM \(rows) LIMIT \(Int64(TenantUsage.countLimit))) AS one"
    }
}
