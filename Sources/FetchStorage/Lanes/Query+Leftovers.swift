import Postgres

// Of lanes, what has outlived its use.

extension Query {
    /// Closes the circuits of hosts whose time has passed and for which nothing waits.
    static func parkings(_ age: Duration, _ limit: Int) -> Query {
        """
        -- leftovers.parkings
        WITH old AS MATERIALIZED (
            SELECT l.tenant_id, l.kind, l.key
            FROM lanes l
            WHERE l.parked_until < now() - \(age)
                AND NOT EXISTS (
                    SELECT FROM queue q WHERE q.tenant_id = l.tenant_id AND q.gate = 'host' AND q.host = l.key
                )
            LIMIT \(limit)
        ), changed AS (
            UPDATE queue_state SET version = version + 1 WHERE EXISTS (SELECT FROM old) RETURNING version
        )
        UPDATE lanes l
        SET \(unparking), version = changed.version
        FROM old, changed
        WHERE l.tenant_id = old.tenant_id AND l.kind = old.kind AND l.key = old.key
            -- It may have been parked again meanwhile.
            AND l.parked_until < now() - \(age)
        RETURNING 1
        """
    }

    /// Starts the jobs of a host as ever, and forgets it when nothing else is set for it.
    static let unparking: Query =
        """
        parked_until = NULL, parked_by = NULL, refusals = 0, doublings = 0,
        removed_at = CASE
            WHEN NOT l.paused AND NOT l.is_limited AND l.bytes_per_second IS NULL AND l.crowd IS NULL THEN now()
        END
        """

    static func lanes(_ age: Duration, _ limit: Int) -> Query {
        """
        -- leftovers.lanes
        WITH old AS MATERIALIZED (
            SELECT tenant_id, kind, key
            FROM lanes
            WHERE removed_at < now() - \(age)
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ), start AS (
            DELETE FROM lane_starts s
            USING old
            WHERE s.tenant_id = old.tenant_id AND s.kind = old.kind AND s.key = old.key
        )
        DELETE FROM lanes l
        USING old
        WHERE l.tenant_id = old.tenant_id AND l.kind = old.kind AND l.key = old.key
        RETURNING 1
        """
    }

    /// A job that is being tried again is in the queue, and may yet fail as before.
    static func flowBlocks(_ limit: Int) -> Query {
        """
        -- leftovers.flowBlocks
        DELETE FROM flow_blocks b
        USING (
            SELECT o.tenant_id, o.flow, o.job_id
            FROM flow_blocks o
            WHERE NOT EXISTS (
                    SELECT
                    FROM results r
                    WHERE r.tenant_id = o.tenant_id AND r.job_id = o.job_id AND r.state = 'failed'
                )
                AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = o.tenant_id AND q.job_id = o.job_id)
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ) AS old
        WHERE b.tenant_id = old.tenant_id AND b.flow = old.flow AND b.job_id = old.job_id
        RETURNING 1
        """
    }
}
