-- Blobs.

CREATE TABLE blobs (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    bytes bigint NOT NULL,
    digest bytea NOT NULL,
    content_type text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    pinned_at timestamptz,
    job_id uuid,
    filename text,
    resume_data bytea,
    PRIMARY KEY (tenant_id, id)
);
COMMENT ON TABLE blobs IS 'Uploaded request bodies and downloaded files; the bytes are in the blob store';
COMMENT ON COLUMN blobs.digest IS 'SHA-256';
COMMENT ON COLUMN blobs.content_type IS 'Null: the owner named none';
COMMENT ON COLUMN blobs.expires_at IS 'Null: the blob stays until it is deleted';
COMMENT ON COLUMN blobs.pinned_at IS
    'Raised by every hold, so that what removes a blob removes the version that it has judged; null: never held';
COMMENT ON COLUMN blobs.job_id IS 'The job whose file it is; null: a client uploaded it';
COMMENT ON COLUMN blobs.filename IS 'Unique within the tenant; null: it has none';
COMMENT ON COLUMN blobs.resume_data IS 'What a job needs to resume the download; null: the blob is whole';

CREATE INDEX blobs_expires_at ON blobs (expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON INDEX blobs_expires_at IS 'blobs.removeExpired, for all tenants';

CREATE UNIQUE INDEX blobs_filename ON blobs (tenant_id, filename) WHERE filename IS NOT NULL;
COMMENT ON INDEX blobs_filename IS 'blobs.addFile: no two files of a tenant have one name';

CREATE INDEX blobs_id ON blobs (id);
COMMENT ON INDEX blobs_id IS 'blobs.orphans: a file tells its id only';

CREATE INDEX blobs_job_id ON blobs (tenant_id, job_id) WHERE job_id IS NOT NULL;
COMMENT ON INDEX blobs_job_id IS 'blobs.removeFenced';

CREATE TABLE blob_pins (
    tenant_id bigint NOT NULL,
    blob_id uuid NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, blob_id, job_id)
);
COMMENT ON TABLE blob_pins IS
    'Which jobs send which blobs. A hold counts while its job is in the queue; it is made before the job is stored, '
    'so a young one counts too';

CREATE TABLE volumes (
    number bigint PRIMARY KEY,
    left_at timestamptz NOT NULL
);
COMMENT ON TABLE volumes IS
    'The data directories whose nodes have gone, so that what they keep is told from what never was';
COMMENT ON COLUMN volumes.left_at IS 'When the last node was gone that had it; one may have it again';
