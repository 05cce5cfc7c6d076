-- Sessions: what jobs share, and the end of each.

CREATE TABLE sessions (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    -- What a client calls its background session; null in others.
    identifier text,
    -- The SessionSpec. Of an ephemeral session it says the kind alone: the rest is in the memory of its node.
    spec json NOT NULL,
    -- Where the session's events go, and those of jobs that name no endpoint; null when nowhere.
    endpoint_id uuid,
    -- The node that an ephemeral session lives on; null in others.
    node_id uuid,
    state text NOT NULL DEFAULT 'active',
    -- Jobs of a background session were stored since its client was last told that all events are delivered.
    has_events boolean NOT NULL DEFAULT false,
    -- What the client's Idempotency-Key for it was; null without one, and after a day.
    idempotency_key text,
    -- Of the request with that key; null without one.
    fingerprint bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Null while it takes jobs.
    invalidated_at timestamptz,
    -- Null while it takes jobs or jobs of it go on.
    ended_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT sessions_kind CHECK (kind IN ('default', 'ephemeral', 'background')),
    CONSTRAINT sessions_state CHECK (state IN ('active', 'finishing', 'cancelling', 'invalidated')),
    CONSTRAINT sessions_background_has_an_identifier CHECK ((kind = 'background') = (identifier IS NOT NULL)),
    CONSTRAINT sessions_ephemeral_has_a_node CHECK ((kind = 'ephemeral') = (node_id IS NOT NULL)),
    CONSTRAINT sessions_invalidation_has_a_time CHECK ((state = 'active') = (invalidated_at IS NULL)),
    CONSTRAINT sessions_end_has_a_time CHECK ((state = 'invalidated') = (ended_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX sessions_identifier ON sessions (tenant_id, identifier) WHERE state <> 'invalidated';
COMMENT ON INDEX sessions_identifier IS 'sessions.create: one live session has an identifier; sessions.list by identifier';
CREATE UNIQUE INDEX sessions_idempotency_key ON sessions (tenant_id, idempotency_key);
COMMENT ON INDEX sessions_idempotency_key IS 'sessions.create, sessions.createdBefore';
CREATE INDEX sessions_ephemeral ON sessions (node_id) WHERE kind = 'ephemeral';
COMMENT ON INDEX sessions_ephemeral IS 'queue.rescue: what was in the memory of a lost node is gone';
CREATE INDEX sessions_ending ON sessions (tenant_id, id) WHERE state IN ('finishing', 'cancelling') OR has_events;
COMMENT ON INDEX sessions_ending IS 'sessions.quiet, nodes.pulse; for all tenants, since any node may tell';

-- Null for the tenant's default session.
ALTER TABLE queue ADD COLUMN session_id uuid;
CREATE INDEX queue_session ON queue (tenant_id, session_id, job_id) WHERE session_id IS NOT NULL;
COMMENT ON INDEX queue_session IS 'sessions.quiet, sessions.outstanding';

-- An event is about a job, of a session or not, or about a session as a whole.
ALTER TABLE webhook_deliveries ALTER COLUMN job_id DROP NOT NULL;
ALTER TABLE webhook_deliveries ADD COLUMN session_id uuid;
ALTER TABLE webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_are_about_something CHECK (job_id IS NOT NULL OR session_id IS NOT NULL);
CREATE INDEX webhook_deliveries_session ON webhook_deliveries (tenant_id, session_id)
    WHERE state = 'pending' AND session_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_session IS 'deliveries.claim: events of a session wait for those of its jobs';
