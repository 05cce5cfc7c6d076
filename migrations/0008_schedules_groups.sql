-- Schedules and groups of jobs.

CREATE TABLE schedules (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    spec json NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    paused_at timestamptz,
    next_run_at timestamptz,
    last_run_at timestamptz,
    last_job_id uuid,
    last_error text,
    last_error_at timestamptz,
    runs bigint NOT NULL DEFAULT 0,
    sealed_secrets bytea,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT schedules_error_has_a_time CHECK ((last_error IS NULL) = (last_error_at IS NULL)),
    CONSTRAINT schedules_paused_have_no_time CHECK (paused_at IS NULL OR next_run_at IS NULL)
) WITH (fillfactor = 70);
COMMENT ON TABLE schedules IS 'Jobs that are made when their times come';
COMMENT ON COLUMN schedules.version IS 'Raised by every change of a client, for If-Match';
COMMENT ON COLUMN schedules.paused_at IS 'Null while it is active';
COMMENT ON COLUMN schedules.next_run_at IS 'Null while it is paused, and when no time is left';
COMMENT ON COLUMN schedules.last_run_at IS 'The time that the last job was made for; null: none was made';
COMMENT ON COLUMN schedules.last_job_id IS 'Null: none was made';
COMMENT ON COLUMN schedules.last_error IS 'Why the last job was not made; null: it was';
COMMENT ON COLUMN schedules.last_error_at IS 'Null: the last job was made';
COMMENT ON COLUMN schedules.runs IS 'How many jobs were made';
COMMENT ON COLUMN schedules.sealed_secrets IS
    'Secrets of the job that it makes; AES-256-GCM, bound to this table, tenant and schedule; null: it has none';

CREATE INDEX schedules_next_run_at ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;
COMMENT ON INDEX schedules_next_run_at IS
    'schedules.due, nodes.heartbeat; for all tenants, since any node may make the jobs';

CREATE TABLE url_group_endpoints (
    tenant_id bigint NOT NULL,
    group_name text COLLATE "C" NOT NULL,
    url text COLLATE "C" NOT NULL,
    name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, group_name, url)
);
COMMENT ON TABLE url_group_endpoints IS
    'The URLs of URL groups: a group is there as long as it has one. A message to it goes to each';
COMMENT ON COLUMN url_group_endpoints.name IS 'What the tenant calls it; null: nothing';

CREATE TABLE groups (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    spec json NOT NULL,
    endpoint_id uuid,
    created_at timestamptz NOT NULL,
    closed_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT groups_finish_after_they_close CHECK (finished_at IS NULL OR closed_at IS NOT NULL)
) WITH (fillfactor = 70);
COMMENT ON TABLE groups IS 'Jobs that belong together; one event tells when all are final';
COMMENT ON COLUMN groups.endpoint_id IS 'The webhook endpoint; null: none';
COMMENT ON COLUMN groups.closed_at IS 'Null while it takes jobs';
COMMENT ON COLUMN groups.finished_at IS 'Null until it is closed and its jobs are final';

CREATE INDEX groups_ending ON groups (tenant_id, id) WHERE closed_at IS NOT NULL AND finished_at IS NULL;
COMMENT ON INDEX groups_ending IS 'groups.quiet, nodes.heartbeat; for all tenants, since any node may tell';
