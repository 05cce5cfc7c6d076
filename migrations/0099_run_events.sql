-- What happens to a job while it runs can be told to its endpoint too, and a job says what its own endpoint is told.

-- Written when the event happens; null for events that tell of how things are when they are sent.
ALTER TABLE webhook_deliveries ADD COLUMN data json;

CREATE INDEX webhook_deliveries_run ON webhook_deliveries (tenant_id, job_id, id)
    WHERE state = 'pending' AND data IS NOT NULL;

COMMENT ON INDEX webhook_deliveries_run IS 'deliveries.claim: the events of a job go one after the other';

CREATE FUNCTION webhook_events() RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT ARRAY[
        'job.started', 'job.redirected', 'job.challenged', 'job.response', 'job.becameDownload', 'job.resumedAtOffset',
        'job.bodyWanted', 'job.destinationCreated', 'job.progress', 'job.finished', 'session.eventsFinished',
        'session.invalidated', 'group.finished', 'cookies.changed', 'credentials.changed', 'endpoint.disabled'
    ]
$$;

COMMENT ON FUNCTION webhook_events() IS 'the events that an endpoint, or a job, can ask for';

CREATE FUNCTION wants_event(spec json, events text[], event text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce((spec #> '{webhook,events}')::jsonb ? event, event = ANY (events))
$$;

COMMENT ON FUNCTION wants_event(json, text[], text) IS
    'whether a job''s endpoint is told of an event: as the job says, or as the endpoint does';

CREATE OR REPLACE FUNCTION fetchd.check_job(job jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
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
    IF url !~* '^(https?://[!-~]+|data:[!-~]+)$' THEN
        PERFORM fetchd.refuse('/request/url', 'must be an http, https or data URL in ASCII');
    END IF;
    IF url ~ '^[^:]+://[^/?#]*@' THEN
        PERFORM fetchd.refuse('/request/url', 'must not hold a user name or password: name a stored credential');
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
END
$_$;

CREATE OR REPLACE FUNCTION check_invariants(patience interval) RETURNS TABLE(invariant text, violations bigint, example text)
    LANGUAGE sql STABLE
    AS $$
    WITH found AS (
        SELECT 'a job that has its result is not in the queue' AS invariant, 'job' AS kind, q.job_id AS id
        FROM queue q
        JOIN results r ON r.tenant_id = q.tenant_id AND r.job_id = q.job_id
        UNION ALL
        SELECT 'a job is in the queue, or has its result', 'job', j.id
        FROM jobs j
        WHERE NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = j.tenant_id AND q.job_id = j.id)
            AND NOT EXISTS (SELECT FROM results r WHERE r.tenant_id = j.tenant_id AND r.job_id = j.id)
        UNION ALL
        SELECT 'what is in the queue is a job', 'job', q.job_id
        FROM queue q
        WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.tenant_id = q.tenant_id AND j.id = q.job_id)
        UNION ALL
        SELECT 'what has a result is a job', 'job', r.job_id
        FROM results r
        WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.tenant_id = r.tenant_id AND j.id = r.job_id)
        UNION ALL
        SELECT 'a job that runs is had by a node that lives', 'job', q.job_id
        FROM queue q
        WHERE q.claimed_at < now() - patience
            AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = q.node_id AND n.lease_until > now() - patience)
        UNION ALL
        SELECT 'a job is promoted when its time has come', 'job', q.job_id
        FROM queue q
        WHERE q.scheduled AND q.run_at < now() - patience
        UNION ALL
        SELECT 'a job that has expired while it waited has ended', 'job', q.job_id
        FROM queue q
        WHERE q.node_id IS NULL AND q.expires_at < now() - patience
        UNION ALL
        SELECT 'a closed group without jobs to be done is finished', 'grp', g.id
        FROM groups g
        WHERE g.closed_at < now() - patience AND g.finished_at IS NULL
            AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = g.tenant_id AND q.group_id = g.id)
            AND NOT EXISTS (
                SELECT
                FROM jobs j
                JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
                WHERE j.tenant_id = g.tenant_id AND j.group_id = g.id AND r.finished_at >= now() - patience
            )
        UNION ALL
        SELECT 'a session that ends and has no jobs to be done is invalidated', 'ses', s.id
        FROM sessions s
        WHERE s.state IN ('finishing', 'cancelling') AND s.invalidated_at < now() - patience
            AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = s.tenant_id AND q.session_id = s.id)
            AND NOT EXISTS (
                SELECT
                FROM jobs j
                JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
                WHERE j.tenant_id = s.tenant_id AND j.session = fetchd.text_of_id('ses', s.id)
                    AND r.finished_at >= now() - patience
            )
        UNION ALL
        -- Of the last hour: older deliveries may have been removed.
        SELECT 'the end of a job is told to the endpoint that asked for it', 'job', r.job_id
        FROM results r
        JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
        LEFT JOIN sessions s ON s.tenant_id = j.tenant_id AND s.id = fetchd.id_of_text('ses', j.session)
        JOIN webhook_endpoints e ON e.tenant_id = j.tenant_id
            AND e.id = coalesce(fetchd.id_of_text('whe', j.spec #>> '{webhook,endpoint}'), s.endpoint_id)
        WHERE r.finished_at > now() - interval '1 hour' AND e.created_at < j.created_at
            AND wants_event(j.spec, e.events, 'job.finished')
            AND NOT EXISTS (
                SELECT
                FROM webhook_deliveries d
                WHERE d.tenant_id = r.tenant_id AND d.job_id = r.job_id AND d.event = 'job.finished'
            )
    )
    SELECT f.invariant, count(*), fetchd.text_of_id(min(f.kind), (array_agg(f.id))[1])
    FROM found f
    GROUP BY f.invariant
    ORDER BY f.invariant
$$;
