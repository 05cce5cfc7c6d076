-- Jobs that wait: for their time, for another attempt, for their client; and those that are given up.

ALTER TABLE queue
    -- Waits for run_at; nobody claims it before it is promoted.
    ADD COLUMN scheduled boolean NOT NULL DEFAULT false,
    -- Held by its client, wherever it is.
    ADD COLUMN suspended boolean NOT NULL DEFAULT false,
    -- How many of its attempts were followed by another one.
    ADD COLUMN tries smallint NOT NULL DEFAULT 0,
    -- Not started after this; null for never given up.
    ADD COLUMN expires_at timestamptz,
    ADD CONSTRAINT queue_scheduled_jobs_wait CHECK (node_id IS NULL OR NOT scheduled);

-- Jobs that cannot be claimed stay out of the way of those that can, however many they are.
DROP INDEX queue_waiting;
CREATE INDEX queue_waiting ON queue (rank, run_at, job_id) WHERE node_id IS NULL AND NOT scheduled AND NOT suspended;
COMMENT ON INDEX queue_waiting IS 'queue.claim; for all tenants, since any node may run any job';

CREATE INDEX queue_scheduled ON queue (run_at) WHERE scheduled;
COMMENT ON INDEX queue_scheduled IS 'queue.promote, nodes.pulse; for all tenants, since any node may promote';

CREATE INDEX queue_expiring ON queue (expires_at) WHERE expires_at IS NOT NULL AND node_id IS NULL;
COMMENT ON INDEX queue_expiring IS 'queue.expire, nodes.pulse; for all tenants, since any node may end them';

CREATE INDEX queue_held ON queue (tenant_id, job_id) WHERE scheduled OR suspended;
COMMENT ON INDEX queue_held IS 'jobs.list of scheduled and suspended jobs';

CREATE INDEX queue_suspended ON queue (node_id) WHERE suspended AND node_id IS NOT NULL;
COMMENT ON INDEX queue_suspended IS 'nodes.pulse';

ALTER TABLE attempts
    -- Of the response that it got, if any.
    ADD COLUMN status smallint,
    -- When the next attempt was to start; null when none followed.
    ADD COLUMN next_at timestamptz;
