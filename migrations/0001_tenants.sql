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
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    is_admin boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id)
);
COMMENT ON TABLE api_keys IS 'Keys that requests authenticate with';
COMMENT ON COLUMN api_keys.secret_mac IS 'HMAC-SHA-256 of the secret; its key is in service_keys';
COMMENT ON COLUMN api_keys.revoked_at IS 'Null while the key is valid';
COMMENT ON COLUMN api_keys.is_admin IS 'The key may also use the routes of operators';

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

CREATE TABLE service_keys (
    purpose text PRIMARY KEY,
    sealed_key bytea NOT NULL
);
COMMENT ON TABLE service_keys IS 'Keys of the service itself, wrapped as those of tenants are';
COMMENT ON COLUMN service_keys.purpose IS 'What the key is for, such as the HMAC of API keys';
COMMENT ON COLUMN service_keys.sealed_key IS 'AES-256-GCM, bound to this table and purpose';
