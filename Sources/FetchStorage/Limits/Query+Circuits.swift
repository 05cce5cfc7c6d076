import Postgres

// Limiters that have expired.

extension Query {
    /// Closes the circuits of hosts whose time has passed and for which nothing waits.
    static func circuits(_ age: Duration, _ limit: Int) -> Query {
        """
        -- expired.circuits
        WITH old AS MATERIALIZED (
            SELECT l.tenant_id, l.kind, l.key
            FROM limiters l
            WHERE l.circuit_open_until < now() - \(age)
                AND NOT EXISTS (
                    SELECT FROM queue q WHERE q.tenant_id = l.tenant_id AND q.gate = 'host' AND q.host = l.key
                )
            LIMIT \(limit)
        ), changed AS (
            UPDATE queue_state SET version = version + 1 WHERE EXISTS (SELECT FROM old) RETURNING version
        )
        UPDATE limiters l
        SET \(closingCircuit), version = changed.version
        FROM old, changed
        WHERE l.tenant_id = old.tenant_id AND l.kind = old.kind AND l.key = old.key
            -- The circuit may have been opened again meanwhile.
            AND l.circuit_open_until < now() - \(age)
        RETURNING 1
        """
    }

    /// Starts the jobs of a host as usual again, and forgets it when nothing else is set for it.
    static let closingCircuit: Query =
        """
        circuit_open_until = NULL, circuit_reason = NULL, refusals = 0, doublings = 0,
        removed_at = CASE
            WHEN NOT l.paused AND NOT l.is_limited AND l.bytes_per_second IS NULL AND l.crowd IS NULL THEN now()
        END
        """

    static func limiters(_ age: Duration, _ limit: Int) -> Query {
        """
        -- expired.limiters
        WITH old AS MATERIALIZED (
            SELECT tenant_id, kind, key
            FROM limiters
            WHERE removed_at < now() - \(age)
            LIMIT \(limit)
            FOR UPDATE SKIP LOCKED
        ), start AS (
            DELETE FROM limiter_starts s
            USING old
            WHERE s.tenant_id = old.tenant_id AND s.kind = old.kind AND s.key = old.key
        )
        DELETE FROM limiters l
        USING old
        WHERE l.tenant_id = old.tenant_id AND l.kind = old.kind AND l.key = old.key
        RETURNING 1
        """
    }

    /// A job that is being tried again is in the queue, and may yet fail as before.
    static func flowBlocks(_ limit: Int) -> Query {
        """
        -- expired.flowBlocks
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
