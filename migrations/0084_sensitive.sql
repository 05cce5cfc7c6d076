-- What clients keep to themselves of their requests is sealed beside the job, as credentials that come with it are.

-- What is secret of the job that a schedule makes; null when nothing is. AES-256-GCM, bound to this table, tenant and
-- schedule.
ALTER TABLE schedules ADD COLUMN sealed_secrets bytea;

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
    IF jsonb_path_exists(job, 'strict $.labels ? (@.type() != "object" && @.type() != "null")', silent => true)
        OR jsonb_path_exists(job, 'strict $.labels.* ? (@.type() != "string")', silent => true)
    THEN
        PERFORM fetchd.refuse('/labels', 'must be an object of strings');
    END IF;
END
$$;
