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
