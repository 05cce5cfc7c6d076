-- Downloads: files with names that are unique within their tenant, and what is there of files that are not complete.

ALTER TABLE blobs
    -- The job whose file it is; null for what a client sent.
    ADD job_id uuid,
    -- The file's name in the tenant's download area; null for blobs that have none.
    ADD filename text,
    -- What a new job needs to go on with the download; null for blobs that are whole.
    ADD resume_data bytea;
CREATE UNIQUE INDEX blobs_filename ON blobs (tenant_id, filename) WHERE filename IS NOT NULL;
COMMENT ON INDEX blobs_filename IS 'blobs.addFile: no two files of a tenant have one name';
CREATE INDEX blobs_job_id ON blobs (tenant_id, job_id) WHERE job_id IS NOT NULL;
COMMENT ON INDEX blobs_job_id IS 'blobs.removeFenced';

-- {"blob", "filename", …}; null for jobs that are no downloads.
ALTER TABLE results ADD file json;

-- Whether a download that is being cancelled leaves what it has, for another job to go on with.
ALTER TABLE queue ADD keeps_partial boolean NOT NULL DEFAULT false;
