-- Schedules: jobs that are made when their times come.
CREATE TABLE schedules (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    spec json NOT NULL,
    -- Raised by every change that a client makes.
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    -- Null while it goes on.
    paused_at timestamptz,
    -- Null while it is paused, and when no time is left.
    next_run_at timestamptz,
    -- The time that the last job was made for; null before the first.
    last_run_at timestamptz,
    last_job_id uuid,
    -- Why the last job was not made; null when it was.
    last_error text,
    last_error_at timestamptz,
    -- How many jobs were made.
    runs bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT schedules_error_has_a_time CHECK ((last_error IS NULL) = (last_error_at IS NULL)),
    CONSTRAINT schedules_paused_have_no_time CHECK (paused_at IS NULL OR next_run_at IS NULL)
) WITH (fillfactor = 70);

CREATE INDEX schedules_next_run_at ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;
COMMENT ON INDEX schedules_next_run_at IS 'schedules.due, nodes.pulse; for all tenants, since any node may make the jobs';

-- The schedule that made the job; null when a client did.
ALTER TABLE jobs ADD COLUMN schedule_id uuid;

CREATE INDEX jobs_schedule ON jobs (tenant_id, schedule_id, id) WHERE schedule_id IS NOT NULL;
COMMENT ON INDEX jobs_schedule IS 'jobs.list of a schedule';
