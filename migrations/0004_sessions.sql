-- Sessions, and what their jobs share.

CREATE TABLE sessions (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    identifier text,
    spec json NOT NULL,
    endpoint_id uuid,
    node_id uuid,
    state text NOT NULL DEFAULT 'active',
    has_events boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    invalidated_at timestamptz,
    ended_at timestamptz,
    events_finished_at timestamptz,
    events_acknowledged_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT sessions_acknowledge_what_is_finished
        CHECK (events_acknowledged_at IS NULL OR events_finished_at IS NOT NULL),
    CONSTRAINT sessions_background_has_an_identifier CHECK ((kind = 'background') = (identifier IS NOT NULL)),
    CONSTRAINT sessions_end_has_a_time CHECK ((state = 'invalidated') = (ended_at IS NOT NULL)),
    CONSTRAINT sessions_ephemeral_has_a_node CHECK ((kind = 'ephemeral') = (node_id IS NOT NULL)),
    CONSTRAINT sessions_invalidation_has_a_time CHECK ((state = 'active') = (invalidated_at IS NULL)),
    CONSTRAINT sessions_kind CHECK (kind IN ('default', 'ephemeral', 'background')),
    CONSTRAINT sessions_state CHECK (state IN ('active', 'finishing', 'cancelling', 'invalidated'))
) WITH (fillfactor = 80);
COMMENT ON TABLE sessions IS 'What jobs share, and the end of it';
COMMENT ON COLUMN sessions.kind IS 'default, ephemeral or background';
COMMENT ON COLUMN sessions.identifier IS 'The name that the client gave a background session; null: another kind';
COMMENT ON COLUMN sessions.spec IS
    'The SessionSpec; of an ephemeral session the kind alone, the rest is in the memory of its node';
COMMENT ON COLUMN sessions.endpoint_id IS 'The webhook endpoint of the session, and of jobs that name none; null: none';
COMMENT ON COLUMN sessions.node_id IS 'The node of an ephemeral session; null: another kind';
COMMENT ON COLUMN sessions.state IS
    'active, finishing (it takes no jobs), cancelling (its jobs are cancelled) or invalidated';
COMMENT ON COLUMN sessions.has_events IS
    'Jobs of a background session were stored since its client was last told that all events are delivered';
COMMENT ON COLUMN sessions.invalidated_at IS 'Null while it takes jobs';
COMMENT ON COLUMN sessions.ended_at IS 'Null while it takes jobs, or while jobs of it run';
COMMENT ON COLUMN sessions.events_finished_at IS 'When all events were delivered last; null: never';
COMMENT ON COLUMN sessions.events_acknowledged_at IS 'When the client acknowledged that; null: not yet';

CREATE INDEX sessions_ending ON sessions (tenant_id, id) WHERE state IN ('finishing', 'cancelling') OR has_events;
COMMENT ON INDEX sessions_ending IS 'sessions.quiet, nodes.heartbeat; for all tenants, since any node may tell';

CREATE INDEX sessions_ephemeral ON sessions (node_id) WHERE kind = 'ephemeral';
COMMENT ON INDEX sessions_ephemeral IS 'queue.rescue: what was in the memory of a lost node is gone';

CREATE UNIQUE INDEX sessions_identifier ON sessions (tenant_id, identifier) WHERE state <> 'invalidated';
COMMENT ON INDEX sessions_identifier IS
    'sessions.create: one live session has an identifier; sessions.list by identifier';

CREATE TABLE session_stores (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    layer_ids uuid[] NOT NULL,
    cookies_version bigint NOT NULL DEFAULT 0,
    credentials_version bigint NOT NULL DEFAULT 0,
    cookie_accept_policy text NOT NULL DEFAULT 'always',
    cache_version bigint NOT NULL DEFAULT 0,
    cache_purged_at timestamptz,
    answers_version bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, session_id),
    CONSTRAINT session_stores_cookie_accept_policy
        CHECK (cookie_accept_policy IN ('always', 'onlyFromMainDocumentDomain', 'never')),
    CONSTRAINT session_stores_have_a_layer CHECK (cardinality(layer_ids) BETWEEN 1 AND 16)
) WITH (fillfactor = 50);
COMMENT ON TABLE session_stores IS
    'Cookies, credentials and cache of a session, made by the first write. Cookies and credentials are in layers: a '
    'session writes to the first one and reads all, so that a snapshot copies nothing. A node compares the versions '
    'with those in its memory: no job sees stores older than its submission';
COMMENT ON COLUMN session_stores.layer_ids IS 'The first one is written to';
COMMENT ON COLUMN session_stores.cookies_version IS 'Raised by every write to a cookie of the session';
COMMENT ON COLUMN session_stores.credentials_version IS
    'Raised by every write to a credential of the tenant, in the row of its default session';
COMMENT ON COLUMN session_stores.cookie_accept_policy IS 'always, onlyFromMainDocumentDomain or never';
COMMENT ON COLUMN session_stores.cache_version IS
    'Raised when something cached is removed or replaced; 0: nothing was ever cached';
COMMENT ON COLUMN session_stores.cache_purged_at IS
    'A response that was requested before this is not stored; null: never purged';
COMMENT ON COLUMN session_stores.answers_version IS
    'Raised when an answer is remembered or forgotten; 0: nothing was ever remembered';

CREATE TABLE cookies (
    tenant_id bigint NOT NULL,
    layer_id uuid NOT NULL,
    key bytea NOT NULL,
    name bytea NOT NULL,
    domain text NOT NULL,
    is_host_only boolean NOT NULL,
    path text NOT NULL,
    partition text,
    sealed_value bytea,
    expires_at timestamptz,
    is_secure boolean NOT NULL,
    is_http_only boolean NOT NULL,
    same_site text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, layer_id, key),
    CONSTRAINT cookies_same_site CHECK (same_site IN ('strict', 'lax', 'none'))
);
COMMENT ON TABLE cookies IS 'Cookies of a layer. One without a value hides that of a layer beneath';
COMMENT ON COLUMN cookies.key IS 'SHA-256 of name, domain, is_host_only, path and partition: a layer has one of each';
COMMENT ON COLUMN cookies.is_host_only IS 'It is sent to its domain alone, not to those below';
COMMENT ON COLUMN cookies.partition IS 'The top-level site that it is sent under; null: any';
COMMENT ON COLUMN cookies.sealed_value IS
    'AES-256-GCM, bound to this table, tenant and key; null: the cookie was removed';
COMMENT ON COLUMN cookies.expires_at IS 'Null: it ends with its session';
COMMENT ON COLUMN cookies.is_secure IS 'The attribute Secure';
COMMENT ON COLUMN cookies.is_http_only IS 'The attribute HttpOnly';
COMMENT ON COLUMN cookies.same_site IS 'strict, lax or none; null: the server did not say';

CREATE INDEX cookies_expires_at ON cookies (expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON INDEX cookies_expires_at IS 'expired.cookies, for all tenants';

CREATE TABLE credentials (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    layer_id uuid NOT NULL,
    key bytea NOT NULL,
    space bytea NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    protocol text NOT NULL,
    realm text,
    authentication_method text NOT NULL,
    is_proxy boolean NOT NULL,
    user_name text NOT NULL,
    kind text NOT NULL,
    persistence text NOT NULL,
    is_default boolean NOT NULL,
    sealed_secret bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    last_failure_at timestamptz,
    PRIMARY KEY (tenant_id, layer_id, key),
    CONSTRAINT credentials_kind CHECK (kind IN ('password', 'bearerToken', 'clientCertificate', 'awsKeys', 'keytab')),
    CONSTRAINT credentials_persistence CHECK (persistence IN ('forSession', 'permanent'))
);
COMMENT ON TABLE credentials IS 'Credentials of a layer, by protection space';
COMMENT ON COLUMN credentials.key IS 'SHA-256 of the protection space and the user: a layer has one of each';
COMMENT ON COLUMN credentials.space IS 'SHA-256 of the protection space';
COMMENT ON COLUMN credentials.realm IS 'Null: the server names none';
COMMENT ON COLUMN credentials.is_proxy IS 'The space is that of a proxy';
COMMENT ON COLUMN credentials.user_name IS 'Empty: the kind has no user';
COMMENT ON COLUMN credentials.kind IS 'password, bearerToken, clientCertificate, awsKeys or keytab';
COMMENT ON COLUMN credentials.persistence IS 'forSession or permanent';
COMMENT ON COLUMN credentials.is_default IS 'The one of its space that jobs use';
COMMENT ON COLUMN credentials.sealed_secret IS 'AES-256-GCM, bound to this table, tenant and key';
COMMENT ON COLUMN credentials.last_failure_at IS 'When a server refused it; null: none has since it was stored';

CREATE UNIQUE INDEX credentials_id ON credentials (tenant_id, id);
COMMENT ON INDEX credentials_id IS 'credentials.find; credentials.remove';

CREATE TABLE credential_uses (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL DEFAULT uuidv7(),
    used_at timestamptz NOT NULL DEFAULT now(),
    credential_id uuid NOT NULL,
    job_id uuid,
    space json NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
COMMENT ON TABLE credential_uses IS
    'Which stored credential was given to which job. Not with credentials or jobs: it tells what was done with them '
    'after they are gone';
COMMENT ON COLUMN credential_uses.job_id IS 'Null: a job of an ephemeral session, of which nothing is stored';
COMMENT ON COLUMN credential_uses.space IS 'The protection space, as the API writes it';

CREATE INDEX credential_uses_by_credential ON credential_uses (tenant_id, credential_id, id);
COMMENT ON INDEX credential_uses_by_credential IS 'credentialUses.list';

CREATE TABLE session_snapshots (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    spec json NOT NULL,
    layer_ids uuid[] NOT NULL,
    cookie_accept_policy text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
COMMENT ON TABLE session_snapshots IS
    'Snapshots of the stores of sessions. To take one freezes the layers of the session and puts an empty one first; '
    'a session made from it has the same frozen layers';
COMMENT ON COLUMN session_snapshots.spec IS 'The SessionSpec of the session, for those made from the snapshot';
COMMENT ON COLUMN session_snapshots.layer_ids IS 'The newest first';
COMMENT ON COLUMN session_snapshots.cookie_accept_policy IS 'always, onlyFromMainDocumentDomain or never';
