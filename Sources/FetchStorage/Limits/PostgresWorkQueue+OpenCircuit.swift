package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    package nonisolated(nonsending) func heed(
        _ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp
    ) async throws(StoreError) -> Bool {
        try await known.write(signal, of: host, askedAt: time) { () async throws(StoreError) in
            try await StoreError.wrap {
                try await client.query(Self.writing(signal, of: host, askedAt: time))
                try await known.refresh()
                if peers.exist { try await Notifications.tell(client) }
            }
        }
    }

    /// The exponent of 2 of the longest wait for an origin that names none, in seconds: some four minutes.
    private static let longestBackOff: Int16 = 8

    /// How often the number of jobs that run at once is doubled before all others are let through.
    private static let doublings: Int16 = 6

    private static func writing(_ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp) -> Query {
        switch signal {
        case .open(let circuit):
            """
            -- limiters.openCircuit
            WITH \(Query.newVersion)
            INSERT INTO limiters (tenant_id, kind, key, circuit_open_until, circuit_reason, version)
            SELECT \(host.tenant), \(host.kind), \(host.key), \(circuit.until), \(circuit.reason), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET circuit_reason = CASE
                    WHEN limiters.circuit_open_until >= excluded.circuit_open_until THEN limiters.circuit_reason ELSE excluded.circuit_reason
                END,
                circuit_open_until = greatest(limiters.circuit_open_until, excluded.circuit_open_until), doublings = 0,
                removed_at = NULL, version = excluded.version
            """
        case .backOff(let reason):
            """
            -- limiters.backOff
            WITH \(Query.newVersion)
            INSERT INTO limiters (tenant_id, kind, key, circuit_open_until, circuit_reason, refusals, version)
            SELECT \(host.tenant), \(host.kind), \(host.key), now() + interval '1 second', \(reason), 1, version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET circuit_open_until = now() + interval '1 second' * 2 ^ limiters.refusals, circuit_reason = excluded.circuit_reason,
                refusals = least(limiters.refusals + 1, \(Self.longestBackOff)), doublings = 0, removed_at = NULL,
                version = excluded.version
            -- What was asked before is no news: many are under way when the first is refused.
            WHERE limiters.circuit_open_until IS NULL OR limiters.circuit_open_until <= \(time)
            """
        case .proceed: opening(host, askedAt: time)
        }
    }

    /// Lets twice as many go on, or all when these were enough or nothing is left that waits.
    private static func opening(_ host: Limiter.Address, askedAt time: Timestamp) -> Query {
        """
        -- limiters.open
        WITH \(Query.newVersion), host AS (
            SELECT l.tenant_id, l.kind, l.key, changed.version, l.doublings < \(doublings) AND EXISTS (
                SELECT FROM queue q WHERE q.tenant_id = l.tenant_id AND q.gate = 'host' AND q.host = l.key
            ) AS is_slow
            FROM limiters l
            CROSS JOIN changed
            WHERE l.tenant_id = \(host.tenant) AND l.kind = \(host.kind) AND l.key = \(host.key)
                -- Of those that began together one answer counts.
                AND l.circuit_open_until <= \(time)
            -- After the version, as everywhere, so that two of these cannot wait for each other.
            FOR UPDATE OF l
        ), slow AS (
            UPDATE limiters l
            SET circuit_open_until = least(now(), \(Timestamp.now)), refusals = 0, doublings = l.doublings + 1,
                version = host.version
            FROM host
            WHERE l.tenant_id = host.tenant_id AND l.kind = host.kind AND l.key = host.key AND host.is_slow
        )
        UPDATE limiters l
        SET \(Query.closingCircuit), version = host.version
        FROM host
        WHERE l.tenant_id = host.tenant_id AND l.kind = host.kind AND l.key = host.key AND NOT host.is_slow
        """
    }
}
