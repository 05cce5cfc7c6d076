package import FetchJobs
package import Postgres

/// A data directory with bodies that rows name, and that no node has.
package struct LostVolume: Sendable, Equatable {
    package let volume: Volume
    /// How many bodies are in it.
    package let count: Int64

    package init(volume: Volume, count: Int64) {
        self.volume = volume
        self.count = count
    }

    /// Those with the most bodies; none while no node lives, when all would be.
    ///
    /// It reads all rows that name bodies.
    package static func all(client: Client) async throws(StoreError) -> [LostVolume] {
        try await StoreError.wrap {
            try await client.query(
                """
                -- volumes.lost
                WITH result AS (
                    SELECT blob_id AS id FROM results WHERE blob_id IS NOT NULL AND file IS NULL
                ), kept AS (
                    SELECT (('x' || right(replace(id::text, '-', ''), 16))::bit(64)::bigint >> 30) & 4294967295 AS number,
                        count(*) AS count
                    FROM (
                        SELECT id FROM blobs
                        UNION ALL
                        SELECT id FROM result
                    ) AS blob
                    GROUP BY 1
                )
                SELECT number, count
                FROM kept
                WHERE number <> \(Int64(Volume.shared.number))
                    AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.volume = kept.number AND n.lease_until > now())
                    AND EXISTS (SELECT 1 FROM nodes WHERE lease_until > now())
                ORDER BY count DESC
                LIMIT 10
                """
            ).map { row in
                LostVolume(
                    volume: Volume(number: UInt32(truncatingIfNeeded: try row.decode(Int64.self, at: 0))),
                    count: try row.decode(at: 1))
            }
        }
    }
}
