-- Groups: jobs that belong together, of which one event tells when all are final.
CREATE TABLE groups (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    spec json NOT NULL,
    -- Null when nobody is told.
    endpoint_id uuid,
    created_at timestamptz NOT NULL,
    -- Null while it takes jobs.
    closed_at timestamptz,
    -- Null until it is closed and its jobs are final.
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT groups_finish_after_they_close CHECK (finished_at IS NULL OR closed_at IS NOT NULL)
) WITH (fillfactor = 70);

CREATE INDEX groups_ending ON groups (tenant_id, id) WHERE closed_at IS NOT NULL AND finished_at IS NULL;
COMMENT ON INDEX groups_ending IS 'groups.quiet, nodes.pulse; for all tenants, since any node may tell';

-- Null for jobs of no group.
ALTER TABLE jobs ADD COLUMN group_id uuid;

CREATE INDEX jobs_group ON jobs (tenant_id, group_id, id) WHERE group_id IS NOT NULL;
COMMENT ON INDEX jobs_group IS 'jobs.list of a group, groups.counts';

-- The same in the queue, where it says which groups have jobs that are not final.
ALTER TABLE queue ADD COLUMN group_id uuid;

CREATE INDEX queue_group ON queue (tenant_id, group_id, job_id) WHERE group_id IS NOT NULL;
COMMENT ON INDEX queue_group IS 'groups.quiet, groups.finish';

ALTER TABLE webhook_deliveries
    -- Null unless it is about a group.
    ADD COLUMN group_id uuid,
    DROP CONSTRAINT webhook_deliveries_are_about_something,
    ADD CONSTRAINT webhook_deliveries_are_about_something
        CHECK (num_nonnulls(job_id, session_id, about_endpoint_id, group_id) >= 1);

CREATE INDEX webhook_deliveries_group ON webhook_deliveries (tenant_id, group_id)
    WHERE state = 'pending' AND group_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_group IS 'groups.remove';
