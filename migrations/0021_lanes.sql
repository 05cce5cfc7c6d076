-- Lanes: jobs of a tenant that share limits, those for one host or those of one flow.
--
-- A job whose lane has limits waits at a gate, where no claim looks at it, until it is admitted.

CREATE TABLE lanes (
    tenant_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('host', 'flow')),
    -- The host as URLs write it, or the flow's key.
    key text COLLATE "C" NOT NULL,
    paused boolean NOT NULL DEFAULT false,
    -- How many of its jobs run at once; null for any number.
    parallelism integer CHECK (parallelism > 0),
    -- At most so many start in any time of this length; both null for any number.
    rate_jobs integer CHECK (rate_jobs > 0),
    rate_period interval CHECK (rate_period > interval '0'),
    -- One after the other, in the order of their submission.
    in_order boolean NOT NULL DEFAULT false,
    -- A job that failed holds up those behind it.
    blocks boolean NOT NULL DEFAULT false,
    -- Its origin asked for patience until then; null when it did not.
    parked_until timestamptz,
    -- What it said; null when it did not.
    parked_by text,
    -- Jobs wait at its gate, whatever its state.
    is_limited boolean NOT NULL GENERATED ALWAYS AS (
        parallelism IS NOT NULL OR rate_jobs IS NOT NULL OR in_order
    ) STORED,
    -- Nothing is set any more; nodes have yet to learn of it. Null otherwise.
    removed_at timestamptz,
    -- Of lanes_version when it last changed.
    version bigint NOT NULL,
    PRIMARY KEY (tenant_id, kind, key),
    CONSTRAINT lanes_rate CHECK ((rate_jobs IS NULL) = (rate_period IS NULL)),
    CONSTRAINT lanes_in_order_runs_one CHECK (NOT in_order OR parallelism IS NULL),
    CONSTRAINT lanes_blocks_in_order CHECK (in_order OR NOT blocks)
);
CREATE INDEX lanes_version ON lanes (version);
COMMENT ON INDEX lanes_version IS 'lanes.read: what nodes have not read yet';

-- What holds for all tenants: one row.
CREATE TABLE queue_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    -- No job is started on any node.
    paused boolean NOT NULL DEFAULT false,
    -- Raised by every change of a lane or a pause, so that nodes know without looking; changes follow one another.
    version bigint NOT NULL DEFAULT 0
);
INSERT INTO queue_state DEFAULT VALUES;

-- No job of the tenant is started.
ALTER TABLE tenants ADD COLUMN paused boolean NOT NULL DEFAULT false;

-- When jobs were admitted to lanes with a rate, for as long as that counts.
CREATE TABLE lane_starts (
    tenant_id bigint NOT NULL,
    kind text NOT NULL,
    key text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, kind, key, started_at, job_id)
);

-- Jobs that failed in flows that stop for it. One that was redriven or removed no longer does: see its result.
CREATE TABLE flow_blocks (
    tenant_id bigint NOT NULL,
    flow text COLLATE "C" NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, flow, job_id)
);

ALTER TABLE queue
    -- The flow it belongs to; null for none.
    ADD COLUMN flow text COLLATE "C",
    -- The host of its request; null for jobs that never met a limit of theirs.
    ADD COLUMN host text COLLATE "C",
    -- Which of its lanes it waits for; null when it waits for neither.
    ADD COLUMN gate text CHECK (gate IN ('flow', 'host')),
    -- It has one of the places of its lane, until it is final or tries again.
    ADD COLUMN in_flow boolean NOT NULL DEFAULT false,
    ADD COLUMN in_host boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT queue_gated_jobs_wait CHECK (gate IS NULL OR node_id IS NULL AND NOT scheduled),
    ADD CONSTRAINT queue_gates_have_lanes CHECK (
        (gate IS DISTINCT FROM 'flow' AND NOT in_flow OR flow IS NOT NULL)
        AND (gate IS DISTINCT FROM 'host' AND NOT in_host OR host IS NOT NULL)
    );

DROP INDEX queue_waiting;
CREATE INDEX queue_waiting ON queue (tenant_id, rank, run_at, job_id)
    WHERE node_id IS NULL AND NOT scheduled AND NOT suspended AND gate IS NULL;
COMMENT ON INDEX queue_waiting IS 'queue.claim: the next tenant that waits, and the next jobs of one';

CREATE INDEX queue_gated_flow ON queue (tenant_id, flow, job_id) WHERE gate = 'flow';
COMMENT ON INDEX queue_gated_flow IS 'lanes.admit in order; lanes.gated; lanes.find';
CREATE INDEX queue_gated_flow_rank ON queue (tenant_id, flow, rank, run_at, job_id) WHERE gate = 'flow';
COMMENT ON INDEX queue_gated_flow_rank IS 'lanes.admit to flows without an order';
CREATE INDEX queue_gated_host ON queue (tenant_id, host, rank, run_at, job_id) WHERE gate = 'host';
COMMENT ON INDEX queue_gated_host IS 'lanes.admit to hosts; lanes.gated; lanes.find';
CREATE INDEX queue_in_flow ON queue (tenant_id, flow) WHERE in_flow;
COMMENT ON INDEX queue_in_flow IS 'lanes.admit: the places taken';
CREATE INDEX queue_in_host ON queue (tenant_id, host) WHERE in_host;
COMMENT ON INDEX queue_in_host IS 'lanes.admit: the places taken';
