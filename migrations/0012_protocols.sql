-- Protocols that operators register: HTTP servers that load what the service does not load itself.

CREATE TABLE protocols (
    name text PRIMARY KEY,
    scheme text NOT NULL,
    host text,
    url text NOT NULL,
    asking_order smallint NOT NULL,
    tenant_ids bigint[],
    sealed_secret bytea NOT NULL,
    sealed_previous_secret bytea,
    previous_until timestamptz,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT protocols_of_http_have_hosts_and_tenants
        CHECK (scheme NOT IN ('http', 'https') OR (host IS NOT NULL AND tenant_ids IS NOT NULL)),
    CONSTRAINT protocols_previous_secret_ends CHECK ((sealed_previous_secret IS NULL) = (previous_until IS NULL))
);
COMMENT ON TABLE protocols IS 'Who loads which URLs for whom; queue_state.version is raised with each change';
COMMENT ON COLUMN protocols.host IS 'A pattern, as the API writes it; null: any host, and none';
COMMENT ON COLUMN protocols.url IS 'Where loads are sent';
COMMENT ON COLUMN protocols.asking_order IS 'Lower ones are asked first; of equal ones the one registered last';
COMMENT ON COLUMN protocols.tenant_ids IS 'Whose loads it takes; null: those of all tenants';
COMMENT ON COLUMN protocols.sealed_secret IS 'What messages are signed with; AES-256-GCM, bound to this table and row';
COMMENT ON COLUMN protocols.sealed_previous_secret IS 'Messages are signed with it too until previous_until; null: none';
COMMENT ON COLUMN protocols.previous_until IS 'Null: there is no previous secret';
