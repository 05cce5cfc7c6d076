-- What lists of jobs are filtered by, beside the spec that it is from: reading it there means reading every job.

ALTER TABLE jobs
    -- Of the request's URL; null when that has none.
    ADD COLUMN host text COLLATE "C",
    ADD COLUMN kind text COLLATE "C",
    -- As the spec names it; null for the default session.
    ADD COLUMN session text COLLATE "C",
    -- Each as tenant:name:value, since their index begins with them; null when there is none.
    ADD COLUMN labels text[];

UPDATE jobs j
SET host = substring(spec #>> '{request,url}' FROM '^[a-z]+://(\[[^]]*\]|[^/:?#]*)'),
    kind = spec ->> 'kind',
    session = spec ->> 'session',
    labels = (
        SELECT array_agg(j.tenant_id || ':' || label.key || ':' || label.value)
        FROM json_each_text(spec -> 'labels') AS label
    );

CREATE INDEX jobs_host ON jobs (tenant_id, host, id);
COMMENT ON INDEX jobs_host IS 'jobs.list of a host';
CREATE INDEX jobs_kind ON jobs (tenant_id, kind, id) WHERE kind <> 'data';
COMMENT ON INDEX jobs_kind IS 'jobs.list of downloads and uploads; most jobs are neither';
CREATE INDEX jobs_session ON jobs (tenant_id, session, id) WHERE session IS NOT NULL;
COMMENT ON INDEX jobs_session IS 'jobs.list of a session';
-- Written at once: a list of what is to be written later makes some insert wait for all of it.
CREATE INDEX jobs_labels ON jobs USING gin (labels) WITH (fastupdate = off) WHERE labels IS NOT NULL;
COMMENT ON INDEX jobs_labels IS 'jobs.list of labels, which begin with the tenant';
CREATE INDEX results_error_name ON results (tenant_id, error_name, job_id) WHERE error_name IS NOT NULL;
COMMENT ON INDEX results_error_name IS 'jobs.list of an error';
