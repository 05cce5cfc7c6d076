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
                parked_until = greatest(lanes.parked_until, excluded.parked_until),
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
                refusals = least(lanes.refusals + 1, \(Self.longestBackOff)), removed_at = NULL,
                version = excluded.version
            -- What was asked before is no news: many are under way when the first is refused.
            WHERE lanes.parked_until IS NULL OR lanes.parked_until <= \(time)
            """
        case .proceed:
            """
            -- lanes.unpark
            WITH \(Query.newVersion)
            UPDATE lanes l
            SET \(Query.unparking), version = changed.version
            FROM changed
            WHERE l.tenant_id = \(host.tenant) AND l.kind = \(host.kind) AND l.key = \(host.key)
                AND l.parked_until <= \(time)
            """
        }
    }
}
