-- Jobs from SQL: a service that shares the database stores them in a transaction of its own (docs/SQL.md).
--
-- What these functions derive from a job is what jobs.enqueue is given; the job itself is read by the node that claims
-- it, and ends there as failed when it breaks a rule that is not looked at here.

CREATE SCHEMA fetchd;
COMMENT ON SCHEMA fetchd IS 'What other services may call; see docs/SQL.md';

-- Which roles may store jobs, and of which tenants.
CREATE TABLE enqueue_grants (
    tenant_id bigint NOT NULL REFERENCES tenants,
    role name NOT NULL,
    PRIMARY KEY (tenant_id, role)
);

-- Lets a role, and those that are members of it, store jobs of a tenant.
CREATE FUNCTION fetchd.allow(role name, tenant text DEFAULT 'default') RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
BEGIN
    INSERT INTO enqueue_grants (tenant_id, role)
    SELECT t.id, allow.role FROM tenants t WHERE t.name = allow.tenant
    ON CONFLICT DO NOTHING;
    IF NOT EXISTS (SELECT FROM tenants t WHERE t.name = allow.tenant) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('there is no tenant %L', allow.tenant);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA fetchd TO %I', allow.role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION fetchd.enqueue(json, text) TO %I', allow.role);
END
$$;

-- Takes that back.
CREATE FUNCTION fetchd.disallow(role name, tenant text DEFAULT 'default') RETURNS void
LANGUAGE sql
SET search_path = public, pg_temp
AS $$
    DELETE FROM enqueue_grants g
    USING tenants t
    WHERE t.name = disallow.tenant AND g.tenant_id = t.id AND g.role = disallow.role
$$;

-- An id as the API writes it: the prefix, and 26 characters of five bits each, the first of which holds three.
CREATE FUNCTION fetchd.text_of_id(prefix text, id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT prefix || '_' || string_agg(
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * n FOR 5)::bit(5)::integer, 1), ''
        ORDER BY n
    )
    FROM (SELECT B'00' || ('x' || encode(uuid_send(id), 'hex'))::bit(128) AS bits) AS value, generate_series(0, 25) AS n
$$;

-- The same the other way; null when the text is not an id of this kind.
CREATE FUNCTION fetchd.id_of_text(prefix text, id text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT encode(
        int8send(substring(bits FROM 3 FOR 64)::bit(64)::bigint) || int8send(substring(bits FROM 67)::bit(64)::bigint),
        'hex'
    )::uuid
    FROM (
        SELECT string_agg(
            (strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, length(prefix) + 2 + n, 1)) - 1)::bit(5)::text, ''
            ORDER BY n
        )::bit varying AS bits
        FROM generate_series(0, 25) AS n
    ) AS value
    WHERE id ~ ('^' || prefix || '_[0-7][0-9a-hjkmnp-tv-z]{25}$')
$$;

CREATE FUNCTION fetchd.refuse(pointer text, rule text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE invalid_parameter_value USING MESSAGE = format('%s %s', coalesce(nullif(pointer, ''), 'the job'), rule);
END
$$;

-- Refuses what must not be in a job from SQL, or what it could not be stored without.
CREATE FUNCTION fetchd.check_job(job jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
DECLARE
    known CONSTANT text[] := ARRAY[
        'kind', 'session', 'request', 'configuration', 'priority', 'runAt', 'expiresAt', 'suspended', 'labels',
        'webhook'
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
    IF jsonb_path_exists(job, '$.request.body.blob') OR jsonb_path_exists(job, '$.request.body.multipart[*].blob') THEN
        PERFORM fetchd.refuse('/request/body', 'must not name blobs, which only the API keeps for the job');
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
    IF jsonb_typeof(job -> 'suspended') NOT IN ('boolean', 'null') THEN
        PERFORM fetchd.refuse('/suspended', 'must be a boolean');
    END IF;
    IF jsonb_path_exists(job, 'strict $.labels ? (@.type() != "object" && @.type() != "null")', silent => true)
        OR jsonb_path_exists(job, 'strict $.labels.* ? (@.type() != "string")', silent => true)
    THEN
        PERFORM fetchd.refuse('/labels', 'must be an object of strings');
    END IF;
END
$$;

-- The job as the API would store it: the kind first, the request with its method, and nothing that is null.
CREATE FUNCTION fetchd.spec_of(job json) RETURNS json
LANGUAGE sql STABLE
AS $$
    SELECT (
        '{"kind":' || coalesce(job -> 'kind', '"data"')::text
        || CASE WHEN job ->> 'session' <> 'default' THEN ',"session":' || (job -> 'session')::text ELSE '' END
        || ',"request":{'
        || CASE json_typeof(job -> 'request')
            WHEN 'string' THEN '"url":' || (job -> 'request')::text || ',"method":"GET"'
            ELSE (
                SELECT string_agg(to_json(member.key)::text || ':' || member.value::text, ',' ORDER BY member.n)
                FROM json_each(job -> 'request') WITH ORDINALITY AS member (key, value, n)
            ) || CASE WHEN job #> '{request,method}' IS NULL THEN ',"method":"GET"' ELSE '' END
        END
        || '},"priority":' || coalesce(job ->> 'priority', '0.5')
        || coalesce((
            SELECT string_agg(',' || to_json(member.key)::text || ':' || member.value::text, '' ORDER BY member.n)
            FROM json_each(job) WITH ORDINALITY AS member (key, value, n)
            WHERE member.key NOT IN ('kind', 'session', 'request', 'priority', 'suspended')
                AND json_typeof(member.value) <> 'null'
        ), '')
        || '}'
    )::json
$$;

-- Stores a job of a tenant, and returns its id as the API writes it.
CREATE FUNCTION fetchd.enqueue(job json, tenant text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
<<stored>>
DECLARE
    asked CONSTANT jsonb := job;
    id CONSTANT uuid := uuidv7();
    spec json;
    owner bigint;
    session uuid;
    endpoint uuid;
    run_at CONSTANT timestamptz := asked ->> 'runAt';
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
    INSERT INTO jobs (tenant_id, id, spec, kind, host, session, labels)
    SELECT owner, stored.id, stored.spec, stored.spec ->> 'kind',
        lower(substring(stored.spec #>> '{request,url}' FROM '^[^:]+://(\[[^]]*\]|[^/:?#]*)')),
        stored.spec ->> 'session',
        (
            SELECT array_agg(owner || ':' || label.key || ':' || label.value)
            FROM json_each_text(stored.spec -> 'labels') AS label
        );
    INSERT INTO queue (tenant_id, job_id, rank, endpoint_id, session_id, run_at, scheduled, expires_at, suspended)
    SELECT owner, stored.id, round(1000 * (1 - (stored.spec ->> 'priority')::numeric)), endpoint, stored.session,
        greatest(stored.run_at, now()), coalesce(stored.run_at > now(), false), (asked ->> 'expiresAt')::timestamptz,
        coalesce((asked ->> 'suspended')::boolean, false);
    -- Sent when the caller commits, once for all of its jobs. Those who commit thousands of times a second turn it off:
    -- such commits wait for each other, and the nodes look by themselves every few seconds.
    IF coalesce(current_setting('fetchd.notify', true), '') <> 'off' THEN PERFORM pg_notify('fetchd', ''); END IF;
    RETURN fetchd.text_of_id('job', id);
END
$$;
REVOKE ALL ON FUNCTION fetchd.enqueue(json, text), fetchd.allow(name, text), fetchd.disallow(name, text) FROM PUBLIC;
