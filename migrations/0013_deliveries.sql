-- Deliveries whose every attempt is kept, and endpoints that change, get new secrets, and are disabled.

-- A UUID of version 7, as newer servers make it themselves: its order is that of time.
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

ALTER TABLE webhook_endpoints
    -- Raised by every change; clients name it to change what they have seen.
    ADD COLUMN version integer NOT NULL DEFAULT 1,
    -- When an attempt failed after which none was taken; null while the receiver takes what it is sent.
    ADD COLUMN failing_since timestamptz,
    -- Null while messages are sent.
    ADD COLUMN disabled_at timestamptz,
    ADD COLUMN disabled_reason text,
    -- What messages are signed with as well, until then; null when there is none.
    ADD COLUMN sealed_previous_secret bytea,
    ADD COLUMN previous_until timestamptz,
    -- The idempotency key of the last rotation, and what it asked for; null for none.
    ADD COLUMN rotation text,
    ADD COLUMN rotated_at timestamptz,
    ADD CONSTRAINT webhook_endpoints_disabled_reason CHECK (disabled_reason IN ('failing', 'gone', 'requested')),
    ADD CONSTRAINT webhook_endpoints_disabled_has_a_reason CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    ADD CONSTRAINT webhook_endpoints_previous_secret_ends
        CHECK ((sealed_previous_secret IS NULL) = (previous_until IS NULL));

ALTER TABLE webhook_deliveries
    -- What an event of an endpoint is about.
    ADD COLUMN about_endpoint_id uuid,
    -- How many attempts were made before it was replayed; its schedule begins anew there.
    ADD COLUMN replayed_after smallint NOT NULL DEFAULT 0,
    DROP CONSTRAINT webhook_deliveries_are_about_something,
    ADD CONSTRAINT webhook_deliveries_are_about_something
        CHECK (num_nonnulls(job_id, session_id, about_endpoint_id) >= 1);

DROP INDEX webhook_deliveries_endpoint;
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (tenant_id, endpoint_id, next_attempt_at)
    WHERE state = 'pending';
COMMENT ON INDEX webhook_deliveries_endpoint IS 'deliveries.claim, deliveries.abandon, endpoints.remove';
COMMENT ON INDEX webhook_deliveries_due IS 'deliveries.next, nodes.pulse; for all tenants, since any node may send';
CREATE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (tenant_id, endpoint_id, id);
COMMENT ON INDEX webhook_deliveries_of_endpoint IS 'deliveries.list of an endpoint, deliveries.replayFailed';
CREATE INDEX webhook_deliveries_of_job ON webhook_deliveries (tenant_id, job_id, id) WHERE job_id IS NOT NULL;
COMMENT ON INDEX webhook_deliveries_of_job IS 'deliveries.list of a job, jobs.redrive';
CREATE INDEX webhook_deliveries_abandoned ON webhook_deliveries (tenant_id, id) WHERE state = 'abandoned';
COMMENT ON INDEX webhook_deliveries_abandoned IS 'deliveries.list of those that failed';

CREATE TABLE webhook_attempts (
    tenant_id bigint NOT NULL,
    delivery_id uuid NOT NULL,
    number smallint NOT NULL,
    started_at timestamptz NOT NULL,
    duration interval NOT NULL,
    url text NOT NULL,
    request_headers json NOT NULL,
    -- Null without an answer, as what follows.
    status smallint,
    response_headers json,
    -- The answer's beginning, and whether it goes on after that.
    body bytea,
    body_is_cut boolean NOT NULL DEFAULT false,
    -- Null with an answer.
    error_name text,
    PRIMARY KEY (tenant_id, delivery_id, number),
    CONSTRAINT webhook_attempts_have_an_answer_or_an_error CHECK ((status IS NULL) = (error_name IS NOT NULL))
);
