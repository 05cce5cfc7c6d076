-- A job that is not known is looked for among the ephemeral sessions of its tenant, by what their ids have in common.

CREATE INDEX sessions_ephemeral_owner ON sessions (tenant_id, (substring(uuid_send(id) FROM 9 FOR 5)))
    WHERE kind = 'ephemeral';
COMMENT ON INDEX sessions_ephemeral_owner IS 'sessions.ephemeralOwner';
