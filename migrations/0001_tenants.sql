-- Tenants and keys.

CREATE FUNCTION uuidv7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
    SELECT encode(
        set_bit(
            set_bit(
                overlay(
                    uuid_send(gen_random_uuid())
                    PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                    FROM 1 FOR 6
                ), 52, 1
            ), 53, 1
        ), 'hex'
    )::uuid
$$;
COMMENT ON FUNCTION uuidv7() IS 'a UUID of version 7, as newer servers make it themselves: its order is that of time';

CREATE TABLE tenants (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    weight smallint NOT NULL DEFAULT 1,
    paused boolean NOT NULL DEFAULT false,
    bytes_per_second bigint CHECK (bytes_per_second > 0),
    maximum_waiting_jobs bigint,
    CONSTRAINT tenants_maximum_waiting_jobs CHECK (maximum_waiting_jobs > 0),
    CONSTRAINT tenants_weight CHECK (weight BETWEEN 1 AND 100)
);
COMMENT ON TABLE tenants IS 'A client of the service; everything below belongs to one';
COMMENT ON COLUMN tenants.weight IS 'How many jobs a claim takes of the tenant in its turn while other tenants wait';
COMMENT ON COLUMN tenants.paused IS 'No job of the tenant is started';
COMMENT ON COLUMN tenants.bytes_per_second IS
    'How many bytes of bodies the jobs of the tenant move in each direction, on all nodes together; null: no limit';
COMMENT ON COLUMN tenants.maximum_waiting_jobs IS 'How many jobs may wait; null: the setting of the nodes';

INSERT INTO tenants (name) VALUES ('default');

CREATE TABLE api_keys (
    tenant_id bigint NOT NULL REFERENCES tenants,
    id uuid NOT NULL,
    name text NOT NULL,
    secret_mac bytea NOT NULL,
    scopes text[] NOT NULL,
    session_id uuid,
    hosts text[],
    maximum_jobs bigint,
    counted_by uuid NOT NULL,
    submitted_jobs bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid,
    expires_at timestamptz,
    last_used_at timestamptz,
    replaced_by uuid,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT api_keys_scopes CHECK (
        cardinality(scopes) > 0
        AND scopes <@ ARRAY[
            'jobs:read', 'jobs:write', 'limits', 'sessions', 'credentials', 'webhooks', 'questions', 'schedules',
            'keys', 'audit', 'admin'
        ]
    ),
    CONSTRAINT api_keys_hosts CHECK (cardinality(hosts) > 0),
    CONSTRAINT api_keys_maximum_jobs CHECK (maximum_jobs > 0),
    CONSTRAINT api_keys_submitted_jobs CHECK (submitted_jobs >= 0)
);
COMMENT ON TABLE api_keys IS 'Keys that requests authenticate with';
COMMENT ON COLUMN api_keys.secret_mac IS 'HMAC-SHA-256 of the secret; its key is in service_keys';
COMMENT ON COLUMN api_keys.scopes IS 'What the key may do';
COMMENT ON COLUMN api_keys.session_id IS
    'The only session whose jobs the key submits and sees; zeros: the default session; null: every session';
COMMENT ON COLUMN api_keys.hosts IS 'Patterns of the only hosts that jobs of the key load from; null: every host';
COMMENT ON COLUMN api_keys.maximum_jobs IS 'How many jobs may be submitted with the key in all; null: any number';
COMMENT ON COLUMN api_keys.counted_by IS
    'The key whose submitted_jobs counts the jobs of this one: the key itself, or the one with a maximum that it was '
    'made with or has replaced';
COMMENT ON COLUMN api_keys.created_by IS 'The key that it was made with; null: it was made by a command';
COMMENT ON COLUMN api_keys.expires_at IS 'When the key stops being valid; null: never';
COMMENT ON COLUMN api_keys.last_used_at IS 'The last use, as of a minute ago; null: never used';
COMMENT ON COLUMN api_keys.replaced_by IS 'The key that it was rotated to; null: none';
COMMENT ON COLUMN api_keys.revoked_at IS 'Null while the key is valid';

CREATE UNIQUE INDEX api_keys_id ON api_keys (id);
COMMENT ON INDEX api_keys_id IS 'keys.authenticate: a token names its key, and by that its tenant';

CREATE TABLE tenant_keys (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    sealed_key bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE tenant_keys IS
    'The key that seals the secrets of a tenant. It is wrapped by a key outside of the database: to change that one, '
    'only this table is written';
COMMENT ON COLUMN tenant_keys.sealed_key IS 'AES-256-GCM, bound to this table and tenant';

CREATE TABLE signing_keys (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    sealed_current bytea NOT NULL,
    sealed_next bytea NOT NULL
);
COMMENT ON TABLE signing_keys IS 'What requests of a tenant are signed with';
COMMENT ON COLUMN signing_keys.sealed_current IS
    'Signs requests; AES-256-GCM under the key of the tenant, bound to this table';
COMMENT ON COLUMN signing_keys.sealed_next IS 'Becomes the current one; sealed in the same way';

CREATE TABLE service_keys (
    purpose text PRIMARY KEY,
    sealed_key bytea NOT NULL
);
COMMENT ON TABLE service_keys IS 'Keys of the service itself, wrapped as those of tenants are';
COMMENT ON COLUMN service_keys.purpose IS 'What the key is for, such as the HMAC of API keys';
COMMENT ON COLUMN service_keys.sealed_key IS 'AES-256-GCM, bound to this table and purpose';
