-- Cached responses.

CREATE TABLE cache_entries (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    key bytea NOT NULL,
    selection bytea NOT NULL,
    id bigint NOT NULL,
    varied_names text NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    tags text[] NOT NULL,
    entry bytea NOT NULL,
    body bytea,
    blob_id uuid,
    cost bigint NOT NULL,
    responded_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, key, selection),
    CONSTRAINT cache_entries_have_one_body CHECK ((body IS NULL) <> (blob_id IS NULL))
) WITH (fillfactor = 90);
COMMENT ON TABLE cache_entries IS 'Cached responses of a session, for all nodes';
COMMENT ON COLUMN cache_entries.key IS 'SHA-256 of method and URL: what an entry is looked up by';
COMMENT ON COLUMN cache_entries.selection IS
    'SHA-256 of the fields that the response varies by and of their values in the request: a key has one entry of each';
COMMENT ON COLUMN cache_entries.id IS 'Names one version of an entry: to store or refresh it makes another';
COMMENT ON COLUMN cache_entries.varied_names IS
    'The names of those fields, separated by commas, without those that the engine adds';
COMMENT ON COLUMN cache_entries.tags IS 'Cache-Tag and Surrogate-Key of the origin, for purging';
COMMENT ON COLUMN cache_entries.entry IS 'Status, fields and times, in the form of the engine';
COMMENT ON COLUMN cache_entries.body IS 'Null: it is in the blob store';
COMMENT ON COLUMN cache_entries.blob_id IS 'Null: the body is in this row';
COMMENT ON COLUMN cache_entries.cost IS 'Bytes of the body and of what goes with it';
COMMENT ON COLUMN cache_entries.used_at IS 'To the minute';

CREATE INDEX cache_entries_blob_id ON cache_entries (blob_id) WHERE blob_id IS NOT NULL;
COMMENT ON INDEX cache_entries_blob_id IS 'blobs.orphans; for all tenants, since the blob store does not know them';

CREATE INDEX cache_entries_responded_at ON cache_entries (tenant_id, responded_at, id);
COMMENT ON INDEX cache_entries_responded_at IS 'cache.list';

CREATE UNLOGGED TABLE cache_turns (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    key bytea NOT NULL,
    node_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, key)
);
COMMENT ON TABLE cache_turns IS
    'Which node fetches what is not cached while others wait for it. Unlogged: when it is lost, two nodes fetch the '
    'same';
COMMENT ON COLUMN cache_turns.expires_at IS 'A turn ends with its node, or then';
