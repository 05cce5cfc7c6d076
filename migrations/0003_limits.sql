-- Limits that jobs of a host, of a flow or of all tenants share.

CREATE TABLE limiters (
    tenant_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('host', 'flow')),
    key text COLLATE "C" NOT NULL,
    paused boolean NOT NULL DEFAULT false,
    parallelism integer CHECK (parallelism > 0),
    rate_jobs integer CHECK (rate_jobs > 0),
    rate_period interval CHECK (rate_period > interval '0'),
    in_order boolean NOT NULL DEFAULT false,
    blocks boolean NOT NULL DEFAULT false,
    parallelism_pinned boolean NOT NULL DEFAULT false,
    rate_pinned boolean NOT NULL DEFAULT false,
    circuit_open_until timestamptz,
    circuit_reason text,
    is_limited boolean NOT NULL GENERATED ALWAYS AS (
        parallelism IS NOT NULL OR rate_jobs IS NOT NULL OR in_order
    ) STORED,
    removed_at timestamptz,
    version bigint NOT NULL,
    bytes_per_second bigint CHECK (bytes_per_second > 0),
    refusals smallint NOT NULL DEFAULT 0,
    doublings smallint NOT NULL DEFAULT 0,
    crowd integer CHECK (crowd > 0),
    crowded_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, kind, key),
    CONSTRAINT limiters_blocks_in_order CHECK (in_order OR NOT blocks),
    CONSTRAINT limiters_crowds_have_a_time CHECK ((crowd IS NULL) = (crowded_at IS NULL)),
    CONSTRAINT limiters_in_order_runs_one CHECK (NOT in_order OR parallelism IS NULL),
    CONSTRAINT limiters_rate CHECK ((rate_jobs IS NULL) = (rate_period IS NULL))
);
COMMENT ON TABLE limiters IS
    'Jobs of a tenant that share limits: those of a host, or of a flow. A job whose limiter has limits waits at a gate, '
    'where no claim sees it, until it is admitted';
COMMENT ON COLUMN limiters.kind IS 'host or flow';
COMMENT ON COLUMN limiters.key IS 'Host and port as URLs write them, or the key of the flow';
COMMENT ON COLUMN limiters.paused IS 'No job of the limiter is started';
COMMENT ON COLUMN limiters.parallelism IS 'How many of its jobs run at once; null: no limit';
COMMENT ON COLUMN limiters.rate_jobs IS 'How many of its jobs start within rate_period; null: no limit';
COMMENT ON COLUMN limiters.rate_period IS 'Null: no limit';
COMMENT ON COLUMN limiters.in_order IS 'One job after the other, in the order of their submission';
COMMENT ON COLUMN limiters.blocks IS 'A job that failed stops those behind it';
COMMENT ON COLUMN limiters.parallelism_pinned IS 'No job changes how many run at once, or their order';
COMMENT ON COLUMN limiters.rate_pinned IS 'No job changes the rate';
COMMENT ON COLUMN limiters.circuit_open_until IS 'The origin asks for no request before this; null: it does not';
COMMENT ON COLUMN limiters.circuit_reason IS 'The field that said so, and its value; null: none did';
COMMENT ON COLUMN limiters.is_limited IS 'Its jobs wait at the gate, whatever its state';
COMMENT ON COLUMN limiters.removed_at IS
    'Nothing is set any more, and nodes have yet to learn of it; null: something is set';
COMMENT ON COLUMN limiters.version IS 'queue_state.version when it changed last';
COMMENT ON COLUMN limiters.bytes_per_second IS
    'How many bytes of bodies its jobs move in each direction, on all nodes together; null: no limit';
COMMENT ON COLUMN limiters.refusals IS
    'How often in a row the origin has refused a request as one too many, without a time to come back at';
COMMENT ON COLUMN limiters.doublings IS
    'How often the number of jobs was doubled since circuit_open_until: so many powers of 2 run at once';
COMMENT ON COLUMN limiters.crowd IS
    'How many jobs run at once on all nodes, while more wait than the origin answers; null: no limit';
COMMENT ON COLUMN limiters.crowded_at IS 'Null: crowd is null';
COMMENT ON COLUMN limiters.created_at IS 'When something was set for it first since it was removed last';
COMMENT ON COLUMN limiters.updated_at IS 'When a client set something for it last';

CREATE INDEX limiters_circuit ON limiters (circuit_open_until) WHERE circuit_open_until IS NOT NULL;
COMMENT ON INDEX limiters_circuit IS 'expired.circuits; for all tenants, since they are forgotten by age';

CREATE INDEX limiters_removed ON limiters (removed_at) WHERE removed_at IS NOT NULL;
COMMENT ON INDEX limiters_removed IS 'expired.limiters; for all tenants, since they are forgotten by age';

CREATE INDEX limiters_version ON limiters (version);
COMMENT ON INDEX limiters_version IS 'limiters.read: what nodes have not read yet';

CREATE TABLE limiter_starts (
    tenant_id bigint NOT NULL,
    kind text NOT NULL,
    key text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, kind, key, started_at, job_id)
);
COMMENT ON TABLE limiter_starts IS 'When jobs were admitted to limiters with a rate, for as long as that counts';
COMMENT ON COLUMN limiter_starts.kind IS 'host or flow';

CREATE TABLE flow_blocks (
    tenant_id bigint NOT NULL,
    flow text COLLATE "C" NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, flow, job_id)
);
COMMENT ON TABLE flow_blocks IS
    'Failed jobs in flows that stop for it. A job that was redriven or removed stops its flow no longer: see results';

CREATE TABLE queue_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    paused boolean NOT NULL DEFAULT false,
    version bigint NOT NULL DEFAULT 0,
    bytes_per_second bigint CHECK (bytes_per_second > 0)
);
COMMENT ON TABLE queue_state IS 'What holds for all tenants: one row';
COMMENT ON COLUMN queue_state.singleton IS 'Always true: there is one row';
COMMENT ON COLUMN queue_state.paused IS 'No job is started on any node';
COMMENT ON COLUMN queue_state.version IS
    'Raised by every change of a limiter or a pause, so that nodes know without a look at each; changes follow one '
    'another';
COMMENT ON COLUMN queue_state.bytes_per_second IS
    'How many bytes of bodies all jobs move in each direction, on all nodes together; null: no limit';

INSERT INTO queue_state DEFAULT VALUES;
