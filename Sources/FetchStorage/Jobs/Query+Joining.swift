import FetchJobs
import Postgres

extension Query {
    /// The default endpoint of a tenant; null for none.
    static func defaultEndpoint(of tenant: Query) -> Query {
        "(SELECT e.id FROM webhook_endpoints e WHERE e.tenant_id = \(tenant) AND e.is_default)"
    }

    /// The endpoint of a row that may be in a ``sessionsOfInput``: its own, that of the session, or the default one.
    static func endpoint(of row: Query) -> Query {
        "coalesce(\(row).endpoint_id, session.endpoint_id, \(defaultEndpoint(of: "\(row).tenant_id")))"
    }

    /// The sessions that jobs may join, which know then that there will be events.
    ///
    /// Goes behind a `WITH` part named `input`, which has the columns `tenant_id` and `session_id`; later parts find
    /// them as `session`, with `endpoint_id`.
    static var sessionsOfInput: Query {
        """
        session AS MATERIALIZED (
            SELECT s.tenant_id, s.id, s.endpoint_id, s.kind = 'background' AND NOT s.has_events AS is_quiet
            FROM sessions s
            WHERE (s.tenant_id, s.id) IN (SELECT tenant_id, session_id FROM input)
                AND s.state = 'active' AND s.kind <> 'ephemeral'
            ORDER BY s.tenant_id, s.id
            -- The end of a session waits for this statement; changes to its stores do not.
            FOR KEY SHARE
        ), woken AS (
            UPDATE sessions s
            SET has_events = true
            FROM session
            WHERE s.tenant_id = session.tenant_id AND s.id = session.id AND session.is_quiet
        )
        """
    }

    /// The groups that jobs may join, as `open_group`; goes behind a `WITH` part named `input`.
    static var groupsOfInput: Query {
        """
        open_group AS MATERIALIZED (
            SELECT g.tenant_id, g.id
            FROM groups g
            WHERE (g.tenant_id, g.id) IN (SELECT tenant_id, group_id FROM input) AND g.closed_at IS NULL
            ORDER BY g.tenant_id, g.id
            -- The end of a group waits for this statement.
            FOR KEY SHARE
        )
        """
    }
}
