package import FetchJobs
import Postgres

// Hosts for which more jobs wait than their origins answer: those wait at the gate, and claims find the jobs behind
// them.

extension PostgresWorkQueue {
    package func setCrowd(
        _ limit: Int, of host: Limiter.Address, givingBack surplus: [ClaimedJob]
    ) async throws(StoreError) -> Set<Job.ID> {
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- limiters.crowd
                WITH \(Query.newVersion), held AS MATERIALIZED (
                    SELECT q.tenant_id, q.job_id, surplus.claim IS NOT NULL AS is_surplus
                    FROM queue q
                    JOIN \(Query.hosts(of: host.tenant, client.isSharded)) j ON j.tenant_id = q.tenant_id AND j.id = q.job_id
                    LEFT JOIN unnest(\(surplus.map(\.id)), \(surplus.map(\.claim))) AS surplus (job_id, claim)
                        ON surplus.job_id = q.job_id AND surplus.claim = q.claim AND q.node_id = \(node)
                            AND NOT q.begun AND NOT q.cancelling
                    WHERE q.tenant_id = \(host.tenant) AND q.node_id IS NOT NULL AND coalesce(q.host, j.host) = \(host.key)
                    -- In one order, so that no two statements wait for each other.
                    ORDER BY q.job_id
                    FOR UPDATE OF q
                ), given AS (
                    UPDATE queue q
                    -- That was no attempt: its number is free again.
                    SET node_id = NULL, claimed_at = NULL, claim = q.claim - 1, gate = 'host',
                        host = \(host.key), in_host = false
                    FROM held
                    WHERE q.tenant_id = held.tenant_id AND q.job_id = held.job_id AND held.is_surplus
                        AND q.node_id = \(node) AND NOT q.begun AND NOT q.cancelling
                    RETURNING q.job_id
                ), running AS (
                    -- What runs already has its place.
                    UPDATE queue q
                    SET host = \(host.key), in_host = true
                    FROM held
                    WHERE q.tenant_id = held.tenant_id AND q.job_id = held.job_id AND NOT held.is_surplus
                        AND q.node_id IS NOT NULL AND NOT q.in_host
                ), limiter AS (
                    INSERT INTO limiters (tenant_id, kind, key, crowd, crowded_at, version)
                    SELECT \(host.tenant), \(host.kind), \(host.key), \(Int32(clamping: limit)), now(), version
                    FROM changed
                    ON CONFLICT (tenant_id, kind, key) DO UPDATE
                    SET crowd = excluded.crowd, crowded_at = now(), removed_at = NULL, version = excluded.version
                )
                SELECT job_id FROM given
                """
            )
            try await tellOfLimiters()
            return Set(try rows.map { try $0.decode(Job.ID.self, at: 0) })
        }
    }

    /// The time without a waiting job at the gate after which the jobs of a host start without it.
    static let calm = Duration.seconds(10)

    /// Starts the jobs of hosts as usual again, if none has waited for a while.
    func unsetCrowd(of hosts: [Limiter.Address]) async throws {
        let count = try await client.query(
            """
            -- limiters.calm
            WITH calm AS MATERIALIZED (
                SELECT l.tenant_id, l.kind, l.key
                FROM unnest(\(hosts.map(\.tenant)), \(hosts.map(\.key))) AS asked (tenant_id, key)
                JOIN limiters l ON l.tenant_id = asked.tenant_id AND l.kind = 'host' AND l.key = asked.key
                WHERE l.crowded_at < now() - \(Self.calm) AND NOT EXISTS (
                        SELECT FROM queue q WHERE q.tenant_id = l.tenant_id AND q.gate = 'host' AND q.host = l.key
                    )
            ), changed AS (
                UPDATE queue_state SET version = version + 1 WHERE EXISTS (SELECT FROM calm) RETURNING version
            )
            UPDATE limiters l
            SET \(Query.uncrowding), version = changed.version
            FROM calm, changed
            WHERE l.tenant_id = calm.tenant_id AND l.kind = calm.kind AND l.key = calm.key
                -- It may be crowded again meanwhile.
                AND l.crowded_at < now() - \(Self.calm)
            """
        ).affected
        if count > 0 { try await tellOfLimiters() }
    }

    private func tellOfLimiters() async throws {
        try await known.refresh()
        if peers.exist { try await Notifications.tell(client) }
    }
}

extension Query {
    /// Starts the jobs of a host as usual again, and forgets it when nothing else is set for it.
    static let uncrowding: Query =
        """
        crowd = NULL, crowded_at = NULL,
        removed_at = CASE
            WHEN NOT l.paused AND NOT l.is_limited AND l.bytes_per_second IS NULL AND l.circuit_open_until IS NULL THEN now()
        END
        """
}
