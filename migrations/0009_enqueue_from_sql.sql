-- Jobs from SQL: a service that shares the database stores them in a transaction of its own (docs/SQL.md).
--
-- What these functions derive from a job is what jobs.enqueue is given; the node that claims the job reads it, and ends
-- it as failed when it breaks a rule that is not checked here.

CREATE SCHEMA fetchd;
COMMENT ON SCHEMA fetchd IS 'What other services may call; see docs/SQL.md';

CREATE TABLE enqueue_grants (
    tenant_id bigint NOT NULL REFERENCES tenants,
    role name NOT NULL,
    PRIMARY KEY (tenant_id, role)
);
COMMENT ON TABLE enqueue_grants IS 'Which roles of the database may store jobs of which tenants';

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
COMMENT ON FUNCTION fetchd.allow(role name, tenant text) IS 'lets a role, and its members, store jobs of a tenant';

CREATE FUNCTION fetchd.disallow(role name, tenant text DEFAULT 'default') RETURNS void
LANGUAGE sql
SET search_path = public, pg_temp
AS $$
    DELETE FROM enqueue_grants g
    USING tenants t
    WHERE t.name = disallow.tenant AND g.tenant_id = t.id AND g.role = disallow.role
$$;
COMMENT ON FUNCTION fetchd.disallow(role name, tenant text) IS 'takes that back';

CREATE FUNCTION fetchd.text_of_id(prefix text, id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT prefix || '_' || string_agg(
        substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * n FOR 5)::bit(5)::integer, 1), ''
        ORDER BY n
    )
    FROM (SELECT B'00' || ('x' || encode(uuid_send(id), 'hex'))::bit(128) AS bits) AS value, generate_series(0, 25) AS n
$$;
COMMENT ON FUNCTION fetchd.text_of_id(prefix text, id uuid) IS
    'an id as the API writes it: the prefix, and 26 characters of five bits each, the first of which has three';

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
COMMENT ON FUNCTION fetchd.id_of_text(prefix text, id text) IS
    'the same the other way; null: the text is no id of this kind';

CREATE FUNCTION fetchd.refuse(pointer text, rule text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE invalid_parameter_value USING MESSAGE = format('%s %s', coalesce(nullif(pointer, ''), 'the job'), rule);
END
$$;
COMMENT ON FUNCTION fetchd.refuse(pointer text, rule text) IS
    'ends the statement with the error of a member and the rule that it breaks';

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
COMMENT ON FUNCTION fetchd.new_job_id() IS
    'an id for a job. Those of one database session are in order, as those of a node are: 48 bits of Unix time in '
    'milliseconds, 12 bits of their fraction, then random bits (RFC 9562 section 6.2, method 3). A flow in order goes '
    'by it';

CREATE FUNCTION fetchd.host_of_url(url text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE split_part(lower(url), ':', 1)
        WHEN 'http' THEN regexp_replace(part.host, ':(80)?$', '')
        WHEN 'https' THEN regexp_replace(part.host, ':(443)?$', '')
        ELSE part.host
    END
    FROM (SELECT lower(substring(url FROM '^[^:]+://((?:\[[^]]*\]|[^/:?#]*)(?::[0-9]*)?)'))) AS part (host)
$$;
COMMENT ON FUNCTION fetchd.host_of_url(url text) IS
    'host and port of a URL as jobs are filed by them; null: it has no host';

CREATE FUNCTION fetchd.pin_blobs(owner bigint, job_id uuid, job jsonb) RETURNS void
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
        INSERT INTO blob_pins (tenant_id, blob_id, job_id)
        VALUES (owner, held, pin_blobs.job_id)
        ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fetchd.pin_blobs(owner bigint, job_id uuid, job jsonb) IS
    'holds the blobs that a job sends or resumes, and refuses those that are not there. They are locked until the '
    'caller commits, so that nobody removes them who cannot see the hold yet; jobs that name the same blob do not '
    'wait for each other';

CREATE FUNCTION fetchd.check_time(pointer text, value text) RETURNS void
LANGUAGE plpgsql STRICT
AS $$
BEGIN
    -- RFC 3339: PostgreSQL would read "tomorrow" too, and 24:00.
    IF value !~ (
        '^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?'
        || '([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$'
    ) THEN
        RAISE datetime_field_overflow;
    END IF;
    PERFORM value::timestamptz;
EXCEPTION WHEN datetime_field_overflow OR invalid_time_zone_displacement_value THEN
    PERFORM fetchd.refuse(pointer, 'must be a time as RFC 3339 writes it, such as 2026-11-21T10:52:00Z');
END
$$;
COMMENT ON FUNCTION fetchd.check_time(pointer text, value text) IS
    'refuses a text that names no time; none is no fault';

CREATE FUNCTION fetchd.check_trace(trace jsonb) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    unknown text;
BEGIN
    IF jsonb_typeof(trace) <> 'object' THEN PERFORM fetchd.refuse('/trace', 'must be an object'); END IF;
    SELECT name INTO unknown FROM jsonb_object_keys(trace) AS name WHERE name NOT IN ('traceparent', 'tracestate') LIMIT 1;
    IF FOUND THEN
        PERFORM fetchd.refuse('/trace/' || unknown, 'is not known; known are: traceparent, tracestate');
    END IF;
    IF jsonb_typeof(trace -> 'traceparent') IS DISTINCT FROM 'string'
        OR trace ->> 'traceparent' !~ '^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$'
    THEN
        PERFORM fetchd.refuse(
            '/trace/traceparent', 'must be a traceparent as W3C Trace Context writes it, of version 00');
    END IF;
    IF jsonb_typeof(trace -> 'tracestate') NOT IN ('string', 'null') OR octet_length(trace ->> 'tracestate') > 512 THEN
        PERFORM fetchd.refuse('/trace/tracestate', 'must be a string of 512 bytes at most');
    END IF;
END
$$;
COMMENT ON FUNCTION fetchd.check_trace(trace jsonb) IS
    'refuses a trace that no job can go on in; what is wrong with the members of a tracestate is left to its reader, '
    'who ignores it as those of requests';

CREATE FUNCTION fetchd.check_job(job jsonb, owner bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
DECLARE
    known CONSTANT text[] := ARRAY[
        'kind', 'session', 'request', 'configuration', 'priority', 'runAt', 'expiresAt', 'suspended', 'discretionary',
        'initiated', 'flow', 'labels', 'resumeFrom', 'webhook', 'group', 'trace'
    ];
    unknown text;
    url CONSTANT text := CASE jsonb_typeof(job -> 'request')
        WHEN 'string' THEN job ->> 'request' ELSE job #>> '{request,url}'
    END;
    asked_scheme CONSTANT text := lower(substring(url FROM '^([A-Za-z][A-Za-z0-9+.-]*):[!-~]+$'));
    -- The fields that carry credentials, as the engine knows them.
    secrets CONSTANT text[] := ARRAY[
        'authorization', 'proxy-authorization', 'cookie', 'x-authorization', 'x-api-key', 'x-apikey',
        'api-key', 'apikey', 'x-auth-token', 'x-auth-key', 'x-access-token', 'x-session-token', 'x-csrf-token',
        'x-csrftoken', 'x-xsrf-token', 'x-amz-security-token', 'x-goog-api-key',
        'x-goog-iam-authorization-token', 'x-functions-key', 'ocp-apim-subscription-key', 'x-rapidapi-key',
        'private-token', 'job-token', 'x-gitlab-token', 'x-vault-token', 'x-consul-token',
        'x-shopify-access-token', 'x-subject-token'
    ];
    part text;
BEGIN
    IF jsonb_typeof(job) IS DISTINCT FROM 'object' THEN PERFORM fetchd.refuse('', 'must be an object'); END IF;
    SELECT name INTO unknown FROM jsonb_object_keys(job) AS name WHERE name <> ALL (known) LIMIT 1;
    IF FOUND THEN
        PERFORM fetchd.refuse('/' || unknown, 'cannot be had from SQL; known are: ' || array_to_string(known, ', '));
    END IF;
    IF url IS NULL THEN PERFORM fetchd.refuse('/request/url', 'is required'); END IF;
    -- Which of their hosts a protocol takes, the node that claims the job knows.
    IF url !~* '^(https?://[!-~]+|data:[!-~]+)$' AND (asked_scheme IN ('http', 'https') OR NOT EXISTS (
        SELECT
        FROM protocols p
        WHERE p.scheme = asked_scheme AND (p.tenant_ids IS NULL OR owner = ANY (p.tenant_ids))
    )) THEN
        PERFORM fetchd.refuse(
            '/request/url', 'must be an http, https or data URL in ASCII, or one of a protocol that is registered');
    END IF;
    IF url ~ '^[^:]+://[^/?#]*@' THEN
        PERFORM fetchd.refuse('/request/url', 'must not hold a user name or password: name a stored credential');
    END IF;
    IF jsonb_path_exists(
        job, '$.request.mirrors[*] ? (@.type() == "string" && @ like_regex "^[^:]+://[^/?#]*@")'
    ) THEN
        PERFORM fetchd.refuse('/request/mirrors', 'must not hold a user name or password');
    END IF;
    IF job @? 'strict $.request ? (@.headers.type() == "object")' THEN
        PERFORM fetchd.refuse('/request/headers', 'must be a list of names and values in a job from SQL');
    END IF;
    IF job @? 'strict $.configuration.** ? (@.headers.type() == "object")' THEN
        PERFORM fetchd.refuse(
            '/configuration', 'must hold header fields as lists of names and values in a job from SQL');
    END IF;
    IF jsonb_typeof(job #> '{request,headers}') = 'array' THEN
        SELECT '/request/headers/' || field.n - 1 INTO part
        FROM jsonb_array_elements(job #> '{request,headers}') WITH ORDINALITY AS field (value, n)
        WHERE lower(field.value ->> 'name') = ANY (secrets) OR field.value -> 'sensitive' IS NOT NULL
        LIMIT 1;
        IF FOUND THEN
            PERFORM fetchd.refuse(part, 'must not be a sensitive field, for nobody seals it: name a stored credential');
        END IF;
    END IF;
    IF job #>> '{request,sensitive}' IS NOT NULL THEN
        PERFORM fetchd.refuse('/request/sensitive', 'cannot be had from SQL, for nobody seals what it names');
    END IF;
    FOREACH part IN ARRAY ARRAY['authentication', 'proxy'] LOOP
        IF job #>> ARRAY['configuration', part, 'credential'] !~ '^crd_' THEN
            PERFORM fetchd.refuse(
                format('/configuration/%s/credential', part), 'must be the id of a stored credential (crd_…)');
        END IF;
    END LOOP;
    IF jsonb_path_exists(
        job, '$.configuration.rules[*].answer.credential ? (@.type() != "string" || !(@ starts with "crd_"))'
    ) OR jsonb_path_exists(
        job, '$.configuration.delegate.otherwise.*.credential ? (@.type() != "string" || !(@ starts with "crd_"))'
    ) THEN
        PERFORM fetchd.refuse(
            '/configuration', 'must not hold a credential in an answer: name a stored one by its id (crd_…)');
    END IF;
    PERFORM fetchd.refuse('/configuration', 'must not hold a sensitive field: a configuration is shown in clear')
    FROM jsonb_path_query(job, '$.configuration.**.headers[*]') AS field
    WHERE lower(field ->> 'name') = ANY (secrets);
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
    IF job ->> 'initiated' NOT IN ('interactive', 'background') THEN
        PERFORM fetchd.refuse('/initiated', 'must be one of "interactive", "background"');
    END IF;
    IF jsonb_typeof(job -> 'configuration') NOT IN ('object', 'null') THEN
        PERFORM fetchd.refuse('/configuration', 'must be an object');
    END IF;
    PERFORM fetchd.check_time('/runAt', job ->> 'runAt');
    PERFORM fetchd.check_time('/expiresAt', job ->> 'expiresAt');
    IF (job ->> 'expiresAt')::timestamptz <= (job ->> 'runAt')::timestamptz THEN
        PERFORM fetchd.refuse('/expiresAt', 'must be after runAt');
    END IF;
    IF job ->> 'resumeFrom' IS NOT NULL AND job ->> 'kind' IS DISTINCT FROM 'download' THEN
        PERFORM fetchd.refuse('/resumeFrom', 'is for downloads');
    END IF;
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
        IF job -> 'flow' <> jsonb_build_object('key', job #> '{flow,key}') THEN
            PERFORM fetchd.refuse('/flow', 'has no member but "key"');
        END IF;
    END IF;
    IF jsonb_typeof(job -> 'trace') <> 'null' THEN PERFORM fetchd.check_trace(job -> 'trace'); END IF;
    IF jsonb_typeof(job -> 'webhook') <> 'null' THEN
        IF job #>> '{webhook,endpoint}' IS NULL THEN
            PERFORM fetchd.refuse('/webhook', 'must be an object with the member "endpoint"');
        END IF;
        SELECT name INTO unknown
        FROM jsonb_object_keys(job -> 'webhook') AS name
        WHERE name NOT IN ('endpoint', 'events')
        LIMIT 1;
        IF FOUND THEN
            PERFORM fetchd.refuse('/webhook/' || unknown, 'cannot be had from SQL; known are: endpoint, events');
        END IF;
        IF job #> '{webhook,events}' IS NOT NULL AND (
            jsonb_typeof(job #> '{webhook,events}') <> 'array' OR jsonb_array_length(job #> '{webhook,events}') = 0
            OR NOT job #> '{webhook,events}' <@ array_to_json(webhook_events())::jsonb
        ) THEN
            PERFORM fetchd.refuse(
                '/webhook/events', 'must name one or more of ' || array_to_string(webhook_events(), ', ')
            );
        END IF;
    END IF;
    IF jsonb_path_exists(job, 'strict $.labels ? (@.type() != "object" && @.type() != "null")', silent => true)
        OR jsonb_path_exists(job, 'strict $.labels.* ? (@.type() != "string")', silent => true)
    THEN
        PERFORM fetchd.refuse('/labels', 'must be an object of strings');
    END IF;
    IF jsonb_typeof(job -> 'labels') = 'object' THEN
        IF (SELECT count(*) FROM jsonb_object_keys(job -> 'labels')) > 32 THEN
            PERFORM fetchd.refuse('/labels', 'has more than 32 labels');
        END IF;
        IF EXISTS (
            SELECT
            FROM jsonb_each_text(job -> 'labels') AS label
            WHERE octet_length(label.key) NOT BETWEEN 1 AND 64 OR octet_length(label.value) > 256
        ) THEN
            PERFORM fetchd.refuse('/labels', 'must have names of 1 to 64 bytes and values of 256 bytes at most');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION fetchd.check_job(job jsonb, owner bigint) IS
    'refuses what must not be in a job from SQL, and a job that lacks what it must have';

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
        || '}'
        || coalesce(',"configuration":' || (
            SELECT CASE
                WHEN job ->> 'session' = 'default' AND coalesce(jsonb_typeof(own.cookies), 'object') = 'object'
                    THEN jsonb_set(own.configuration, '{cookies}', '{"jar":"session"}' || coalesce(own.cookies, '{}'))::text
                WHEN json_typeof(job -> 'configuration') <> 'null' THEN (job -> 'configuration')::text
            END
            FROM (
                SELECT asked.configuration, asked.configuration -> 'cookies' AS cookies
                FROM (
                    SELECT CASE json_typeof(job -> 'configuration')
                        WHEN 'object' THEN (job -> 'configuration')::jsonb ELSE '{}'
                    END AS configuration
                ) AS asked
            ) AS own
        ), '')
        || ',"priority":' || coalesce(job ->> 'priority', '0.5')
        || coalesce((
            SELECT string_agg(',' || to_json(member.key)::text || ':' || member.value::text, '' ORDER BY member.n)
            FROM json_each(job) WITH ORDINALITY AS member (key, value, n)
            WHERE member.key NOT IN ('kind', 'session', 'request', 'configuration', 'priority', 'suspended', 'trace')
                AND json_typeof(member.value) <> 'null'
        ), '')
        -- Of the flags only the last one has a meaning.
        || coalesce((
            SELECT ',"trace":{"traceparent":"' || left(parent, -2)
                || CASE WHEN parent ~ '[13579bdf]$' THEN '01' ELSE '00' END || '"'
                || coalesce(',"tracestate":' || to_json(job #>> '{trace,tracestate}')::text, '') || '}'
            FROM (SELECT job #>> '{trace,traceparent}') AS trace (parent)
        ), '')
        || '}'
    )::json
$$;
COMMENT ON FUNCTION fetchd.spec_of(job json) IS
    'the job as the API would store it: the kind first, the request with its method, no member that is null';

CREATE FUNCTION fetchd.enqueue(job json, tenant text DEFAULT 'default') RETURNS text
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
    run_at timestamptz;
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
    PERFORM fetchd.check_job(asked, owner);
    run_at := asked ->> 'runAt';
    spec := fetchd.spec_of(job);
    host := fetchd.host_of_url(spec #>> '{request,url}');
    is_patient := coalesce((asked ->> 'discretionary')::boolean, false);
    IF asked #>> '{webhook,endpoint}' IS NOT NULL THEN
        endpoint := fetchd.id_of_text('whe', asked #>> '{webhook,endpoint}');
        IF NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.tenant_id = owner AND e.id = endpoint) THEN
            PERFORM fetchd.refuse('/webhook/endpoint', 'is not an endpoint of yours');
        END IF;
    END IF;
    IF asked #>> '{configuration,delegate,endpoint}' IS NOT NULL AND NOT EXISTS (
        SELECT
        FROM webhook_endpoints e
        WHERE e.tenant_id = owner AND e.id = fetchd.id_of_text('whe', asked #>> '{configuration,delegate,endpoint}')
    ) THEN
        PERFORM fetchd.refuse('/configuration/delegate/endpoint', 'is not an endpoint of yours');
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
    endpoint := coalesce(
        endpoint, (SELECT e.id FROM webhook_endpoints e WHERE e.tenant_id = owner AND e.is_default));
    IF asked ->> 'group' IS NOT NULL THEN
        SELECT g.id INTO joined
        FROM groups g
        WHERE g.tenant_id = owner AND g.id = fetchd.id_of_text('grp', asked ->> 'group') AND g.closed_at IS NULL
        -- The end of a group waits for this transaction.
        FOR KEY SHARE;
        IF NOT FOUND THEN PERFORM fetchd.refuse('/group', 'is not a group of yours that takes jobs'); END IF;
    END IF;
    PERFORM fetchd.pin_blobs(owner, id, asked);
    -- One that need not wait for its time goes to the gate of its limiter at once, that of its flow first: found there
    -- by a claim only, a flow in order might let later ones through before it.
    IF NOT is_patient AND coalesce(run_at <= now(), true) THEN
        SELECT l.kind INTO gate
        FROM limiters l
        WHERE l.tenant_id = owner AND (l.kind, l.key) IN (('flow', flow), ('host', host))
            AND (l.is_limited OR l.paused OR l.circuit_open_until IS NOT NULL)
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
        -- Where jobs are on other servers, claims do not look there for their hosts.
        CASE
            WHEN stored.gate = 'host' OR EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN stored.host
        END;
    -- Sent when the caller commits, once for all of its jobs. Those who commit thousands of times a second turn it off:
    -- such commits wait for each other, and the nodes look by themselves every few seconds.
    IF coalesce(current_setting('fetchd.notify', true), '') <> 'off' THEN PERFORM pg_notify('fetchd', ''); END IF;
    RETURN fetchd.text_of_id('job', id);
END
$$;
COMMENT ON FUNCTION fetchd.enqueue(job json, tenant text) IS
    'stores a job of a tenant, and returns its id as the API writes it';

REVOKE ALL ON FUNCTION fetchd.enqueue(json, text), fetchd.allow(name, text), fetchd.disallow(name, text) FROM PUBLIC;
