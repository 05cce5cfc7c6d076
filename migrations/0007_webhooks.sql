-- Webhook endpoints, and events on their way to them.

CREATE TABLE webhook_endpoints (
    tenant_id bigint NOT NULL REFERENCES tenants,
    id uuid NOT NULL,
    url text,
    events text[] NOT NULL,
    events_changed_at timestamptz NOT NULL DEFAULT now(),
    sealed_secret bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    version integer NOT NULL DEFAULT 1,
    failing_since timestamptz,
    disabled_at timestamptz,
    disabled_reason text,
    sealed_previous_secret bytea,
    previous_until timestamptz,
    rotation text,
    rotated_at timestamptz,
    sealed_identity bytea,
    server_trust json,
    last_place bigint NOT NULL DEFAULT 0,
    is_default boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_endpoints_disabled_has_a_reason CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    CONSTRAINT webhook_endpoints_disabled_reason CHECK (disabled_reason IN ('failing', 'gone', 'requested')),
    CONSTRAINT webhook_endpoints_previous_secret_ends
        CHECK ((sealed_previous_secret IS NULL) = (previous_until IS NULL))
);
COMMENT ON TABLE webhook_endpoints IS 'Where events are delivered';
COMMENT ON COLUMN webhook_endpoints.url IS 'Null: nothing is sent, its client reads its events';
COMMENT ON COLUMN webhook_endpoints.events IS 'The types of event that it takes';
COMMENT ON COLUMN webhook_endpoints.events_changed_at IS 'Since when it takes them, for check_invariants';
COMMENT ON COLUMN webhook_endpoints.sealed_secret IS
    'What messages are signed with; AES-256-GCM, bound to this table, tenant and row';
COMMENT ON COLUMN webhook_endpoints.version IS 'Raised by every change, for If-Match';
COMMENT ON COLUMN webhook_endpoints.failing_since IS
    'The first failed attempt since the last delivered message; null: the last one was delivered';
COMMENT ON COLUMN webhook_endpoints.disabled_at IS 'Null while messages are sent';
COMMENT ON COLUMN webhook_endpoints.disabled_reason IS 'failing, gone or requested; null while messages are sent';
COMMENT ON COLUMN webhook_endpoints.sealed_previous_secret IS
    'Messages are signed with it too until previous_until; null: none';
COMMENT ON COLUMN webhook_endpoints.previous_until IS 'Null: there is no previous secret';
COMMENT ON COLUMN webhook_endpoints.rotation IS 'The Idempotency-Key of the last rotation and its request; null: none';
COMMENT ON COLUMN webhook_endpoints.rotated_at IS 'Null: the secret was never rotated';
COMMENT ON COLUMN webhook_endpoints.sealed_identity IS 'The client certificate with its key; null: none';
COMMENT ON COLUMN webhook_endpoints.server_trust IS
    'Certificate authorities of the receiver, as the API writes them; null: those of the system';
COMMENT ON COLUMN webhook_endpoints.last_place IS 'The highest endpoint_place of its deliveries';
COMMENT ON COLUMN webhook_endpoints.is_default IS
    'Whether the jobs, groups and sessions of the tenant that name no endpoint have this one';

CREATE UNIQUE INDEX webhook_endpoints_default ON webhook_endpoints (tenant_id) WHERE is_default;
COMMENT ON INDEX webhook_endpoints_default IS 'jobs.enqueue';

CREATE TABLE webhook_deliveries (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    job_id uuid,
    event text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'pending',
    attempts smallint NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_attempt_at timestamptz,
    last_status smallint,
    session_id uuid,
    about_endpoint_id uuid,
    replayed_after smallint NOT NULL DEFAULT 0,
    group_id uuid,
    data json,
    place bigint,
    endpoint_place bigint,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_are_about_something
        CHECK (num_nonnulls(job_id, session_id, about_endpoint_id, group_id) >= 1),
    CONSTRAINT webhook_deliveries_state CHECK (state IN ('pending', 'delivered', 'abandoned'))
) WITH (fillfactor = 80);
-- How many wait changes faster than statistics do. When these say that none does, all partial indexes of those look alike,
-- and the planner may read all that waits for each that it looks for; without any it assumes one of 200.
ALTER TABLE webhook_deliveries ALTER COLUMN state SET STATISTICS 0;
COMMENT ON TABLE webhook_deliveries IS 'Events on their way to endpoints';
COMMENT ON COLUMN webhook_deliveries.job_id IS 'The job that the event is about; null: none';
COMMENT ON COLUMN webhook_deliveries.state IS 'pending, delivered or abandoned';
COMMENT ON COLUMN webhook_deliveries.next_attempt_at IS
    'A pending delivery is attempted then; while a node attempts it, another one may then';
COMMENT ON COLUMN webhook_deliveries.last_attempt_at IS 'Null: not attempted yet';
COMMENT ON COLUMN webhook_deliveries.last_status IS 'The status of the receiver; null: no answer';
COMMENT ON COLUMN webhook_deliveries.session_id IS
    'The session that the event is about or that its job is in; null: none';
COMMENT ON COLUMN webhook_deliveries.about_endpoint_id IS 'The endpoint that the event is about; null: none';
COMMENT ON COLUMN webhook_deliveries.replayed_after IS
    'How many attempts were made before it was replayed: its schedule begins anew there';
COMMENT ON COLUMN webhook_deliveries.group_id IS 'The group that the event is about; null: none';
COMMENT ON COLUMN webhook_deliveries.data IS
    'What the event says, written when it happened; null: read from the job when it is sent';
COMMENT ON COLUMN webhook_deliveries.place IS
    'Its place among the events of its session; null until somebody lists them. Places are given out one reader after '
    'the other, so that what was stored since comes behind and nobody who goes on from a place misses an event';
COMMENT ON COLUMN webhook_deliveries.endpoint_place IS
    'Its place among the events of an endpoint without a URL, given out by one statement after the other; null: the '
    'endpoint has a URL, or the event is not there for its readers yet';

CREATE INDEX webhook_deliveries_abandoned ON webhook_deliveries (tenant_id, id) WHERE state = 'abandoned';
COMMENT ON INDEX webhook_deliveries_abandoned IS 'deliveries.list of those that failed';

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
COMMENT ON INDEX webhook_deliveries_due IS 'deliveries.next, nodes.heartbeat; for all tenants, since any node may send';

CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (tenant_id, endpoint_id, next_attempt_at, id)
    WHERE state = 'pending';
COMMENT ON INDEX webhook_deliveries_endpoint IS 'deliveries.claim, deliveries.abandon, endpoints.remove';

CREATE INDEX webhook_deliveries_events ON webhook_deliveries (tenant_id, session_id, place, created_at, id)
    WHERE session_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_events IS 'events.place, events.list';

CREATE INDEX webhook_deliveries_group ON webhook_deliveries (tenant_id, group_id)
    WHERE state = 'pending' AND group_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_group IS 'groups.remove';

CREATE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (tenant_id, endpoint_id, id);
COMMENT ON INDEX webhook_deliveries_of_endpoint IS 'deliveries.list of an endpoint, deliveries.replayFailed';

CREATE INDEX webhook_deliveries_of_job ON webhook_deliveries (tenant_id, job_id, id) WHERE job_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_of_job IS 'deliveries.list of a job, jobs.redrive';

CREATE INDEX webhook_deliveries_polled ON webhook_deliveries (tenant_id, endpoint_id, endpoint_place)
    WHERE endpoint_place IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_polled IS 'events.list of an endpoint';

CREATE INDEX webhook_deliveries_run ON webhook_deliveries (tenant_id, job_id, id)
    WHERE state = 'pending' AND data IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_run IS 'deliveries.claim: the events of a job go one after the other';

CREATE INDEX webhook_deliveries_session ON webhook_deliveries (tenant_id, session_id)
    WHERE state = 'pending' AND session_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_session IS 'deliveries.claim: events of a session wait for those of its jobs';

CREATE TABLE webhook_attempts (
    tenant_id bigint NOT NULL,
    delivery_id uuid NOT NULL,
    number smallint NOT NULL,
    started_at timestamptz NOT NULL,
    duration interval NOT NULL,
    url text NOT NULL,
    request_headers json NOT NULL,
    status smallint,
    response_headers json,
    body bytea,
    body_is_cut boolean NOT NULL DEFAULT false,
    error_name text,
    PRIMARY KEY (tenant_id, delivery_id, number),
    CONSTRAINT webhook_attempts_have_an_answer_or_an_error CHECK ((status IS NULL) = (error_name IS NOT NULL))
);
COMMENT ON TABLE webhook_attempts IS 'Each attempt of a delivery';
COMMENT ON COLUMN webhook_attempts.status IS 'Null: no answer';
COMMENT ON COLUMN webhook_attempts.response_headers IS 'Null: no answer';
COMMENT ON COLUMN webhook_attempts.body IS 'The beginning of the answer; null: no answer';
COMMENT ON COLUMN webhook_attempts.body_is_cut IS 'The answer goes on after body';
COMMENT ON COLUMN webhook_attempts.error_name IS 'Null: there was an answer';

CREATE FUNCTION webhook_events() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ARRAY[
        'job.started', 'job.redirected', 'job.challenged', 'job.informational', 'job.response', 'job.becameDownload',
        'job.resumedAtOffset',
        'job.bodyWanted', 'job.question', 'job.destinationCreated', 'job.progress', 'job.finished',
        'session.eventsFinished', 'session.invalidated', 'group.finished', 'cookies.changed', 'credentials.changed', 'endpoint.disabled'
    ]
$$;
COMMENT ON FUNCTION webhook_events() IS 'the events that an endpoint, or a job, can ask for';

CREATE FUNCTION wants_event(spec json, events text[], event text) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
    SELECT coalesce((spec #> '{webhook,events}')::jsonb ? event, event = ANY (events))
$$;
COMMENT ON FUNCTION wants_event(spec json, events text[], event text) IS
    'whether a job''s endpoint is told of an event: as the job says, or as the endpoint does';
