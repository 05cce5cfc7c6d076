-- Jobs from SQL may belong to flows and groups, wait for a quiet time, and send blobs (docs/SQL.md).

-- An id for a job. Those that one session makes come one after the other, as those of a node do: 48 bits of Unix time in
-- milliseconds, 12 bits of their fraction, then random bits (RFC 9562 §6.2, method 3). A flow in order goes by it.
CREATE FUNCTION fetchd.new_job_id() RETURNS uuid
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()) * 1000000);
BEGIN
    RETURN encode(
        overlay(
            uuid_send(gen_random_uuid())
            PLACING int8send((now / 1000) << 16 | x'7000'::bigint | (now % 1000) * 4096 / 1000)
            FROM 1 FOR 8
        ), 'hex'
    )::uuid;
END
$$;

-- Keeps the blobs that a job sends or goes on with, and refuses those that are not there.
--
-- They are locked until the caller commits, so that nobody removes them who cannot see the hold yet (blobs.remove).
-- Jobs that name the same blob do not wait for each other.
CREATE FUNCTION fetchd.hold_blobs(owner bigint, job_id uuid, job jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
DECLARE
    named record;
    held uuid;
    parts CONSTANT jsonb := CASE jsonb_typeof(job #> '{request,body,multipart}')
        WHEN 'array' THEN job #> '{request,body,multipart}' ELSE '[]'
    END;
BEGIN
    FOR named IN
        SELECT '/request/body/blob' AS pointer, job #>> '{request,body,blob}' AS id
        UNION ALL
        SELECT '/resumeFrom', job ->> 'resumeFrom'
        UNION ALL
        SELECT format('/request/body/multipart/%s/blob', part.n - 1), part.value ->> 'blob'
        FROM jsonb_array_elements(parts) WITH ORDINALITY AS part (value, n)
    LOOP
        CONTINUE WHEN named.id IS NULL;
        SELECT b.id INTO held
        FROM blobs b
        WHERE b.tenant_id = owner AND b.id = fetchd.id_of_text('blb', named.id)
            AND (b.expires_at IS NULL OR b.expires_at > now())
        FOR KEY SHARE;
        IF NOT FOUND THEN PERFORM fetchd.refuse(named.pointer, 'is not a blob of yours'); END IF;
        INSERT INTO blob_holds (tenant_id, blob_id, job_id)
        VALUES (owner, held, hold_blobs.job_id)
        ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;

-- Refuses what must not be in a job from SQL, or what it could not be stored without.
CREATE OR REPLACE FUNCTION fetchd.check_job(job jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
DECLARE
    known CONSTANT text[] := ARRAY[
        'kind', 'session', 'request', 'configuration', 'priority', 'runAt', 'expiresAt', 'suspended', 'discretionary',
        'flow', 'labels', 'resumeFrom', 'webhook', 'group'
    ];
    unknown text;
    url CONSTANT text := CASE jsonb_typeof(job -> 'request')
        WHEN 'string' THEN job ->> 'request' ELSE job #>> '{request,url}'
    END;
    -- RFC 3339: PostgreSQL would read "tomorrow" too.
    time CONSTANT text := '^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$';
    part text;
BEGIN
    IF jsonb_typeof(job) IS DISTINCT FROM 'object' THEN PERFORM fetchd.refuse('', 'must be an object'); END IF;
    SELECT name INTO unknown FROM jsonb_object_keys(job) AS name WHERE name <> ALL (known) LIMIT 1;
    IF FOUND THEN
        PERFORM fetchd.refuse('/' || unknown, 'cannot be had from SQL; known are: ' || array_to_string(known, ', '));
    END IF;
    IF url IS NULL THEN PERFORM fetchd.refuse('/request/url', 'is required'); END IF;
    IF url !~* '^(https?://[!-~]+|data:[!-~]+)$' THEN
        PERFORM fetchd.refuse('/request/url', 'must be an http, https or data URL in ASCII');
    END IF;
    IF url ~ '^[^:]+://[^/?#]*@' THEN
        PERFORM fetchd.refuse('/request/url', 'must not hold a user name or password: name a stored credential');
    END IF;
    FOREACH part IN ARRAY ARRAY['authentication', 'proxy'] LOOP
        IF job #>> ARRAY['configuration', part, 'credential'] !~ '^crd_' THEN
            PERFORM fetchd.refuse(
                format('/configuration/%s/credential', part), 'must be the id of a stored credential (crd_…)');
        END IF;
    END LOOP;
    IF jsonb_path_exists(
        job, '$.configuration.** ? (@.type() == "string" && @ like_regex "^[^:]+://[^/?#]*@")'
    ) THEN
        PERFORM fetchd.refuse('/configuration', 'must not hold a user name or password: name a stored credential');
    END IF;
    IF job ->> 'kind' NOT IN ('data', 'download', 'upload') THEN
        PERFORM fetchd.refuse('/kind', 'must be one of "data", "download", "upload"');
    END IF;
    IF jsonb_typeof(job -> 'priority') NOT IN ('number', 'null')
        OR (job ->> 'priority')::numeric NOT BETWEEN 0 AND 1
    THEN
        PERFORM fetchd.refuse('/priority', 'must be a number from 0 to 1');
    END IF;
    FOREACH part IN ARRAY ARRAY['runAt', 'expiresAt'] LOOP
        IF job ->> part !~ time THEN
            PERFORM fetchd.refuse('/' || part, 'must be a time as RFC 3339 writes it, such as 2026-11-21T10:52:00Z');
        END IF;
    END LOOP;
    FOREACH part IN ARRAY ARRAY['suspended', 'discretionary'] LOOP
        IF jsonb_typeof(job -> part) NOT IN ('boolean', 'null') THEN
            PERFORM fetchd.refuse('/' || part, 'must be a boolean');
        END IF;
    END LOOP;
    IF jsonb_typeof(job -> 'flow') <> 'null' THEN
        IF jsonb_typeof(job #> '{flow,key}') IS DISTINCT FROM 'string' THEN
            PERFORM fetchd.refuse('/flow', 'must be an object with the member "key", a string');
        END IF;
        IF octet_length(job #>> '{flow,key}') NOT BETWEEN 1 AND 256 THEN
            PERFORM fetchd.refuse('/flow/key', 'must have 1 to 256 bytes');
        END IF;
    END IF;
    IF jsonb_path_exists(job, 'strict $.labels ? (@.type() != "object" && @.type() != "null")', silent => true)
        OR jsonb_path_exists(job, 'strict $.labels.* ? (@.type() != "string")', silent => true)
    THEN
        PERFORM fetchd.refuse('/labels', 'must be an object of strings');
    END IF;
END
$$;

-- Stores a job of a tenant, and returns its id as the API writes it.
CREATE OR REPLACE FUNCTION fetchd.enqueue(job json, tenant text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
<<stored>>
DECLARE
    asked CONSTANT jsonb := job;
    id CONSTANT uuid := fetchd.new_job_id();
    spec json;
    owner bigint;
    host text;
    flow CONSTANT text := asked #>> '{flow,key}';
    gate text;
    session uuid;
    joined uuid;
    endpoint uuid;
    run_at CONSTANT timestamptz := asked ->> 'runAt';
    is_patient boolean;
BEGIN
    SELECT t.id INTO owner
    FROM tenants t
    WHERE t.name = enqueue.tenant
        -- The owner of this function is whoever it runs as.
        AND (pg_has_role(session_user, current_user, 'MEMBER') OR EXISTS (
            SELECT
            FROM enqueue_grants g
            JOIN pg_roles r ON r.rolname = g.role
            WHERE g.tenant_id = t.id AND pg_has_role(session_user, r.oid, 'MEMBER')
        ));
    IF owner IS NULL THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('%I may not store jobs of the tenant %L', session_user, enqueue.tenant);
    END IF;
    PERFORM fetchd.check_job(asked);
    spec := fetchd.spec_of(job);
    host := lower(substring(spec #>> '{request,url}' FROM '^[^:]+://(\[[^]]*\]|[^/:?#]*)'));
    is_patient := coalesce((asked ->> 'discretionary')::boolean, false);
    IF asked #>> '{webhook,endpoint}' IS NOT NULL THEN
        endpoint := fetchd.id_of_text('whe', asked #>> '{webhook,endpoint}');
        IF NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.tenant_id = owner AND e.id = endpoint) THEN
            PERFORM fetchd.refuse('/webhook/endpoint', 'is not an endpoint of yours');
        END IF;
    END IF;
    IF spec ->> 'session' IS NOT NULL THEN
        session := fetchd.id_of_text('ses', spec ->> 'session');
        SELECT coalesce(stored.endpoint, s.endpoint_id) INTO stored.endpoint
        FROM sessions s
        WHERE s.tenant_id = owner AND s.id = session AND s.kind = 'default' AND s.state = 'active'
        -- The end of a session waits for this transaction; changes to its stores do not.
        FOR KEY SHARE;
        IF NOT FOUND THEN
            PERFORM fetchd.refuse('/session', 'is not a session of yours, of kind "default", that takes jobs');
        END IF;
    END IF;
    IF asked ->> 'group' IS NOT NULL THEN
        SELECT g.id INTO joined
        FROM groups g
        WHERE g.tenant_id = owner AND g.id = fetchd.id_of_text('grp', asked ->> 'group') AND g.closed_at IS NULL
        -- The end of a group waits for this transaction.
        FOR KEY SHARE;
        IF NOT FOUND THEN PERFORM fetchd.refuse('/group', 'is not a group of yours that takes jobs'); END IF;
    END IF;
    PERFORM fetchd.hold_blobs(owner, id, asked);
    -- One that need not wait for its time goes to the gate of its lane at once, that of its flow first: found there by a
    -- claim only, a flow in order might let later ones through before it.
    IF NOT is_patient AND coalesce(run_at <= now(), true) THEN
        SELECT l.kind INTO gate
        FROM lanes l
        WHERE l.tenant_id = owner AND (l.kind, l.key) IN (('flow', flow), ('host', host))
            AND (l.is_limited OR l.paused OR l.parked_until IS NOT NULL)
        ORDER BY l.kind
        LIMIT 1;
    END IF;
    INSERT INTO jobs (tenant_id, id, spec, kind, host, session, group_id, labels)
    SELECT owner, stored.id, stored.spec, stored.spec ->> 'kind', stored.host, stored.spec ->> 'session', joined,
        (
            SELECT array_agg(owner || ':' || label.key || ':' || label.value)
            FROM json_each_text(stored.spec -> 'labels') AS label
        );
    INSERT INTO queue (
        tenant_id, job_id, rank, endpoint_id, session_id, group_id, run_at, scheduled, discretionary, expires_at,
        suspended, flow, gate, host
    )
    SELECT owner, stored.id, round(1000 * (1 - (stored.spec ->> 'priority')::numeric)), endpoint, stored.session,
        joined, greatest(stored.run_at, now()) + CASE WHEN is_patient THEN interval '1 hour' ELSE interval '0' END,
        coalesce(stored.run_at > now(), false) OR is_patient, is_patient, (asked ->> 'expiresAt')::timestamptz,
        coalesce((asked ->> 'suspended')::boolean, false), stored.flow, stored.gate,
        CASE WHEN stored.gate = 'host' THEN stored.host END;
    -- Sent when the caller commits, once for all of its jobs. Those who commit thousands of times a second turn it off:
    -- such commits wait for each other, and the nodes look by themselves every few seconds.
    IF coalesce(current_setting('fetchd.notify', true), '') <> 'off' THEN PERFORM pg_notify('fetchd', ''); END IF;
    RETURN fetchd.text_of_id('job', id);
END
$$;
