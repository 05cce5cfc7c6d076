-- What the jobs of a session share: cookies and credentials.
--
-- Both lie in layers. A session writes to the layer on top of its own and reads through to those beneath it, which it
-- never changes. A cookie without a value in a layer hides one that lies beneath.

-- The key that a tenant's secrets are sealed with, wrapped by a key that is not in the database: changing that one
-- means wrapping this one again, and none of the secrets.
CREATE TABLE tenant_keys (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    -- AES-256-GCM, bound to this table and tenant.
    sealed_key bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Made by the first write to a session's stores. A node compares the versions with those of what it has in memory, so
-- a job never sees stores older than its submission.
CREATE TABLE session_stores (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    -- The one on top first; only that one is written to.
    layer_ids uuid[] NOT NULL,
    -- Raised by every write to the session's cookies.
    cookies_version bigint NOT NULL DEFAULT 0,
    -- Raised by every write to a credential of the tenant, in the row of its default session alone.
    credentials_version bigint NOT NULL DEFAULT 0,
    cookie_accept_policy text NOT NULL DEFAULT 'always',
    PRIMARY KEY (tenant_id, session_id),
    CONSTRAINT session_stores_have_a_layer CHECK (cardinality(layer_ids) BETWEEN 1 AND 16),
    CONSTRAINT session_stores_cookie_accept_policy
        CHECK (cookie_accept_policy IN ('always', 'onlyFromMainDocumentDomain', 'never'))
) WITH (fillfactor = 50);

CREATE TABLE cookies (
    tenant_id bigint NOT NULL,
    layer_id uuid NOT NULL,
    -- SHA-256 of what a storage holds once: name, domain, whether it is for the host alone, path, partition.
    key bytea NOT NULL,
    name bytea NOT NULL,
    domain text NOT NULL,
    is_host_only boolean NOT NULL,
    path text NOT NULL,
    -- Null when it is sent under every top-level site.
    partition text,
    -- AES-256-GCM, bound to this table, tenant and key; null when the cookie was removed.
    sealed_value bytea,
    -- Null for a cookie that ends with its session.
    expires_at timestamptz,
    is_secure boolean NOT NULL,
    is_http_only boolean NOT NULL,
    -- Null when the server did not say.
    same_site text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, layer_id, key),
    CONSTRAINT cookies_same_site CHECK (same_site IN ('strict', 'lax', 'none'))
);

CREATE TABLE credentials (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    layer_id uuid NOT NULL,
    -- SHA-256 of the protection space and the user: what a layer holds once.
    key bytea NOT NULL,
    -- SHA-256 of the protection space alone.
    space bytea NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    protocol text NOT NULL,
    -- Null when the server names none.
    realm text,
    authentication_method text NOT NULL,
    is_proxy boolean NOT NULL,
    -- Empty for a kind that names no user.
    user_name text NOT NULL,
    kind text NOT NULL,
    persistence text NOT NULL,
    -- The one of its space that jobs use.
    is_default boolean NOT NULL,
    -- AES-256-GCM, bound to this table, tenant and key.
    sealed_secret bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Null while a server has not refused it since it was stored.
    last_failure_at timestamptz,
    PRIMARY KEY (tenant_id, layer_id, key),
    CONSTRAINT credentials_kind CHECK (kind IN ('password', 'bearerToken', 'clientCertificate')),
    CONSTRAINT credentials_persistence CHECK (persistence IN ('forSession', 'permanent'))
);
CREATE UNIQUE INDEX credentials_id ON credentials (tenant_id, id);
COMMENT ON INDEX credentials_id IS 'credentials.find; credentials.remove';

-- What a job's request must not show: the user name and password of its URL, or a credential of its own. Null when it
-- has no such thing. AES-256-GCM, bound to this table, tenant and job.
ALTER TABLE jobs ADD COLUMN sealed_secrets bytea;

-- Keys of the service itself, such as the one that the hashes of API keys are made with; wrapped as those of tenants are.
CREATE TABLE service_keys (
    purpose text PRIMARY KEY,
    -- AES-256-GCM, bound to this table and purpose.
    sealed_key bytea NOT NULL
);
