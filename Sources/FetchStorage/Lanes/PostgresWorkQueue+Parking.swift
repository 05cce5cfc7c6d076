package import FetchJobs
import Postgres

extension PostgresWorkQueue {
    package nonisolated(nonsending) func heed(
        _ signal: Lane.Signal, of host: Lane.Address, askedAt time: Timestamp
    ) async throws(StoreError) -> Bool {
        try await known.write(signal, of: host, askedAt: time) { () async throws(StoreError) in
            try await StoreError.wrap {
                try await client.query(Self.writing(signal, of: host, askedAt: time))
                try await known.refresh()
                if neighbours.exist { try await Notices.tell(client) }
            }
        }
    }

    /// Whose power of 2 is the longest wait for an origin that names none, in seconds: some four minutes.
    private static let longestBackOff: Int16 = 8

    /// How often the number of jobs that run at once is doubled before all others are let through.
    private static let doublings: Int16 = 6

    private static func writing(_ signal: Lane.Signal, of host: Lane.Address, askedAt time: Timestamp) -> Query {
        switch signal {
        case .park(let parking):
            """
            -- lanes.park
            WITH \(Query.newVersion)
            INSERT INTO lanes (tenant_id, kind, key, parked_until, parked_by, version)
            SELECT \(host.tenant), \(host.kind), \(host.key), \(parking.until), \(parking.reason), version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET parked_by = CASE
                    WHEN lanes.parked_until >= excluded.parked_until THEN lanes.parked_by ELSE excluded.parked_by
                END,
                parked_until = greatest(lanes.parked_until, excluded.parked_until), doublings = 0,
                removed_at = NULL, version = excluded.version
            """
        case .backOff(let reason):
            """
            -- lanes.backOff
            WITH \(Query.newVersion)
            INSERT INTO lanes (tenant_id, kind, key, parked_until, parked_by, refusals, version)
            SELECT \(host.tenant), \(host.kind), \(host.key), now() + interval '1 second', \(reason), 1, version
            FROM changed
            ON CONFLICT (tenant_id, kind, key) DO UPDATE
            SET parked_until = now() + interval '1 second' * 2 ^ lanes.refusals, parked_by = excluded.parked_by,
                refusals = least(lanes.refusals + 1, \(Self.longestBackOff)), doublings = 0, removed_at = NULL,
                version = excluded.version
            -- What was asked before is no news: many are under way when the first is refused.
            WHERE lanes.parked_until IS NULL OR lanes.parked_until <= \(time)
            """
        case .proceed: opening(host, askedAt: time)
        }
    }

    /// Lets twice as many go on, or all when these were enough or nothing is left that waits.
    private static func opening(_ host: Lane.Address, askedAt time: Timestamp) -> Query {
        """
        -- lanes.open
        WITH \(Query.newVersion), host AS (
            SELECT l.tenant_id, l.kind, l.key, changed.version, l.doublings < \(doublings) AND EXISTS (
                SELECT FROM queue q WHERE q.tenant_id = l.tenant_id AND q.gate = 'host' AND q.host = l.key
            ) AS is_slow
            FROM lanes l
            CROSS JOIN changed
            WHERE l.tenant_id = \(host.tenant) AND l.kind = \(host.kind) AND l.key = \(host.key)
                -- Of those that began together one answer counts.
                AND l.parked_until <= \(time)
            -- After the version, as everywhere, so that two of these cannot wait for each other.
            FOR UPDATE OF l
        ), slow AS (
            UPDATE lanes l
            SET parked_until = least(now(), \(Timestamp.now)), refusals = 0, doublings = l.doublings + 1,
                version = host.version
            FROM host
            WHERE l.tenant_id = host.tenant_id AND l.kind = host.kind AND l.key = host.key AND host.is_slow
        )
        UPDATE lanes l
        SET \(Query.unparking), version = host.version
        FROM host
        WHERE l.tenant_id = host.tenant_id AND l.kind = host.kind AND l.key = host.key AND NOT host.is_slow
        """
    }
}
