-- Jobs, from their submission to their result.
--
-- A job is spread over tables by how its parts live: what was asked (jobs) and what came of it (results, attempts) are
-- written once and never changed; only the small row in queue changes, and it is gone when the job is final. So
-- finished jobs cost those that wait nothing.
--
-- There are no foreign keys between these tables: the statements that write them keep them together, and the checks
-- would cost a lookup for each row on the hottest path of the service.

CREATE TABLE tenants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO tenants (name) VALUES ('default');

CREATE TABLE api_keys (
    tenant_id bigint NOT NULL REFERENCES tenants,
    id uuid NOT NULL,
    name text NOT NULL,
    -- HMAC-SHA-256 of the secret, under a key that is not in the database.
    secret_mac bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Null while the key is valid.
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX api_keys_id ON api_keys (id);
COMMENT ON INDEX api_keys_id IS 'keys.authenticate: a token names its key, and by that its tenant';

-- The processes that run jobs. A node extends its lease while it lives; when the lease has run out its jobs are
-- given to others. One row per node, written every few seconds: not a write per job.
CREATE TABLE nodes (
    id uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE jobs (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- json, not jsonb: the order of members is the client's, and it may reach the origin.
    spec json NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE queue (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    -- Of two jobs that wait, the one with the lower rank goes first: 1000 × (1 − priority).
    rank smallint NOT NULL,
    run_at timestamptz NOT NULL DEFAULT now(),
    -- How often the job was claimed; every write of an attempt names it.
    claim integer NOT NULL DEFAULT 0,
    -- The node that holds the job; null while the job waits.
    node_id uuid,
    -- Null while the job waits.
    claimed_at timestamptz,
    -- A request that must not be repeated may have left.
    begun boolean NOT NULL DEFAULT false,
    cancelling boolean NOT NULL DEFAULT false,
    -- Where the job's events go; null when nowhere.
    endpoint_id uuid,
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT queue_claimed_by_a_node CHECK ((node_id IS NULL) = (claimed_at IS NULL)),
    CONSTRAINT queue_claims_are_counted CHECK (node_id IS NULL OR claim > 0),
    CONSTRAINT queue_waiting_jobs_have_not_begun CHECK (node_id IS NOT NULL OR NOT (begun OR cancelling))
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX queue_waiting ON queue (rank, run_at, job_id) WHERE node_id IS NULL;
COMMENT ON INDEX queue_waiting IS 'queue.claim; for all tenants, since any node may run any job';
CREATE INDEX queue_running ON queue (tenant_id, job_id) WHERE node_id IS NOT NULL;
COMMENT ON INDEX queue_running IS 'jobs.list of running jobs; queue.rescue';
CREATE INDEX queue_cancelling ON queue (node_id) WHERE cancelling;
COMMENT ON INDEX queue_cancelling IS 'nodes.pulse';

CREATE TABLE results (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    state text NOT NULL,
    -- Null when the job was cancelled before it ran.
    started_at timestamptz,
    finished_at timestamptz NOT NULL DEFAULT now(),
    -- The response's status; null without a response.
    status smallint,
    response json,
    -- Null in jobs that succeeded.
    error_name text,
    error json,
    -- Null when there was none.
    redirects json,
    -- A small body, or the id of a larger one in the blob store; both null without a body.
    body bytea,
    blob_id uuid,
    body_bytes bigint,
    body_digest bytea,
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT results_state CHECK (state IN ('succeeded', 'failed', 'cancelled')),
    CONSTRAINT results_success_has_a_response CHECK (state <> 'succeeded' OR (response IS NOT NULL AND error IS NULL)),
    CONSTRAINT results_failure_has_an_error CHECK (state = 'succeeded' OR (error IS NOT NULL AND error_name IS NOT NULL)),
    CONSTRAINT results_one_place_for_the_body CHECK (body IS NULL OR blob_id IS NULL),
    CONSTRAINT results_a_body_is_measured CHECK (
        (body IS NULL AND blob_id IS NULL) = (body_bytes IS NULL) AND (body_bytes IS NULL) = (body_digest IS NULL)
    )
);
-- Bodies are compressed or random often enough, and read in ranges.
ALTER TABLE results ALTER body SET STORAGE EXTERNAL;
CREATE INDEX results_unsuccessful ON results (tenant_id, state, job_id) WHERE state <> 'succeeded';
COMMENT ON INDEX results_unsuccessful IS 'jobs.list of failed and cancelled jobs; jobs.overview';

-- One execution of a job on one node; number is the claim it ran under.
CREATE TABLE attempts (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    number integer NOT NULL,
    node_id uuid NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('succeeded', 'failed', 'cancelled')),
    -- Null when it succeeded.
    error_name text,
    -- One element per transfer; null when its node was lost.
    metrics json,
    PRIMARY KEY (tenant_id, job_id, number)
);

-- Finished jobs by minute, so that nobody has to count rows. Each node has rows of its own: they never wait for
-- each other.
CREATE TABLE job_counts (
    tenant_id bigint NOT NULL,
    minute timestamptz NOT NULL,
    node_id uuid NOT NULL,
    state text NOT NULL,
    jobs bigint NOT NULL,
    body_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, minute, node_id, state)
) WITH (fillfactor = 50);

-- What a client's Idempotency-Key stood for.
CREATE TABLE idempotency_keys (
    tenant_id bigint NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at);
COMMENT ON INDEX idempotency_keys_created_at IS 'nodes.tidy';
