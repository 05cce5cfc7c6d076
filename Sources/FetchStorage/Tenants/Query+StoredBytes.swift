import FetchJobs
import Postgres

// How many bytes tenants have stored: the sum of blobs, and counts of the bodies that are kept with their jobs.

extension Query {
    /// Adds to the bytes of bodies that are kept with their jobs, as `kept`: one row for each tenant and statement.
    ///
    /// Goes behind what counts jobs, so that two statements of this node cannot wait for each other.
    ///
    /// - Parameters:
    ///   - source: A `WITH` part that has the column `tenant_id`.
    ///   - bytes: How many bytes a row of it adds, less than 0 for those that it removes; null for none.
    static func keeping(_ source: Query, at node: Node.ID, bytes: Query) -> Query {
        """
        kept AS (
            INSERT INTO kept_bodies (tenant_id, node_id, bytes)
            SELECT tenant_id, \(node), sum(\(bytes))
            FROM \(source)
            GROUP BY tenant_id
            HAVING sum(\(bytes)) <> 0
            ORDER BY tenant_id
            ON CONFLICT (tenant_id, node_id) DO UPDATE SET bytes = kept_bodies.bytes + excluded.bytes
        )
        """
    }

    /// How many bytes of a result are kept with its job; null where there are none, or a file that is a blob.
    static func keptBytes(_ result: Query) -> Query {
        "CASE WHEN \(result).file IS NULL THEN \(bodyBytes(result)) END"
    }

    /// The size of the body of a result; null when it has none.
    static func bodyBytes(_ result: Query) -> Query {
        "coalesce(\(result).body_bytes, octet_length(\(result).body))"
    }

    /// The SHA-256 of the body of a result; null when it has none.
    static func bodyDigest(_ result: Query) -> Query {
        "coalesce(\(result).body_digest, sha256(\(result).body))"
    }

    /// How many bytes a tenant has stored, in blobs and in bodies that are kept with jobs.
    static func storedBytes(of tenant: Query) -> Query {
        """
        SELECT (
            (SELECT coalesce(sum(b.bytes), 0) FROM blobs b WHERE b.tenant_id = \(tenant))
            + (SELECT coalesce(sum(k.bytes), 0) FROM kept_bodies k WHERE k.tenant_id = \(tenant))
        )::bigint AS count
        """
    }
}
