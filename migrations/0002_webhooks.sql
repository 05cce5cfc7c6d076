-- Webhook endpoints and the events on their way to them.

CREATE TABLE webhook_endpoints (
    tenant_id bigint NOT NULL REFERENCES tenants,
    id uuid NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    -- AES-256-GCM, bound to this table, tenant and row.
    sealed_secret bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE webhook_deliveries (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    job_id uuid NOT NULL,
    event text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'pending',
    attempts smallint NOT NULL DEFAULT 0,
    -- A pending delivery is tried then; while a node tries it, it is when another node may.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- Null before the first try.
    last_attempt_at timestamptz,
    -- The status the receiver gave; null without an answer.
    last_status smallint,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_state CHECK (state IN ('pending', 'delivered', 'abandoned'))
) WITH (fillfactor = 80);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
COMMENT ON INDEX webhook_deliveries_due IS 'deliveries.claim; for all tenants, since any node may send';
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (tenant_id, endpoint_id) WHERE state = 'pending';
COMMENT ON INDEX webhook_deliveries_endpoint IS 'endpoints.remove';
