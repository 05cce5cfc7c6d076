-- Answers that jobs may be given again, for all nodes. Each session has its own: what one user was told is not for
-- another one.

CREATE TABLE cache_entries (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    -- SHA-256 of method and URL: what an entry is looked up by.
    key bytea NOT NULL,
    -- SHA-256 of the fields that the answer varies by and of what the request had in them: of the entries of a key, one
    -- is kept for each.
    selection bytea NOT NULL,
    -- Names one version of an entry: storing or refreshing it makes another.
    id bigint NOT NULL,
    -- The names of those fields, with commas between them, without those that the engine adds by itself.
    varied_names text NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    -- What the origin marked it with (Cache-Tag, Surrogate-Key), for purging.
    tags text[] NOT NULL,
    -- Status, fields, times and what else the engine decides by, in its own form.
    entry bytea NOT NULL,
    -- Null when it is in the blob store.
    body bytea,
    -- Null when it is beside the entry.
    blob_id uuid,
    -- What it counts with: the body and what goes with it.
    cost bigint NOT NULL,
    responded_at timestamptz NOT NULL,
    -- To the minute.
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, key, selection),
    CONSTRAINT cache_entries_have_one_body CHECK ((body IS NULL) <> (blob_id IS NULL))
) WITH (fillfactor = 90);
CREATE INDEX cache_entries_responded_at ON cache_entries (tenant_id, responded_at, id);
COMMENT ON INDEX cache_entries_responded_at IS 'cache.list';
CREATE INDEX cache_entries_blob_id ON cache_entries (blob_id) WHERE blob_id IS NOT NULL;
COMMENT ON INDEX cache_entries_blob_id IS 'blobs.orphans; for all tenants, since the blob store does not know them';

-- Who fetches what is not stored, while others wait for it. Nothing is lost when this is: then two nodes fetch the same.
CREATE UNLOGGED TABLE cache_turns (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    key bytea NOT NULL,
    -- A turn ends with its node at the latest.
    node_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, key)
);

-- Zero as long as nothing of the session was ever cached; raised when something cached is removed or replaced.
ALTER TABLE session_stores ADD COLUMN cache_version bigint NOT NULL DEFAULT 0;
