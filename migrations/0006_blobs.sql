-- Blobs that clients may name: uploaded request bodies and downloaded files. Their bytes are in the blob store.

CREATE TABLE blobs (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    bytes bigint NOT NULL,
    -- SHA-256.
    digest bytea NOT NULL,
    -- Null when its owner named none.
    content_type text,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Null to keep the blob until it is deleted.
    expires_at timestamptz,
    -- Raised with every hold; what removes the blob removes the version it has judged. Null before the first.
    held_at timestamptz,
    -- Null when the client sent none, and a day later.
    idempotency_key text,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX blobs_idempotency_key ON blobs (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
COMMENT ON INDEX blobs_idempotency_key IS 'blobs.add';
CREATE INDEX blobs_expires_at ON blobs (expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON INDEX blobs_expires_at IS 'blobs.removeExpired, for all tenants';
CREATE INDEX blobs_id ON blobs (id);
COMMENT ON INDEX blobs_id IS 'blobs.orphans: a file tells its id only';
CREATE INDEX results_blob_id ON results (blob_id) WHERE blob_id IS NOT NULL;
COMMENT ON INDEX results_blob_id IS 'blobs.orphans: a file tells its id only';

-- Which jobs send which blobs. A hold counts while its job is in the queue; it is made before the job is stored, so a
-- young one counts as well.
CREATE TABLE blob_holds (
    tenant_id bigint NOT NULL,
    blob_id uuid NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, blob_id, job_id)
);
