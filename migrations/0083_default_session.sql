-- Jobs without a session have no cookies in common; those that name the default session have its jar (docs/SQL.md).

-- The job as the API would store it: the kind first, the request with its method, and nothing that is null.
CREATE OR REPLACE FUNCTION fetchd.spec_of(job json) RETURNS json
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
            WHERE member.key NOT IN ('kind', 'session', 'request', 'configuration', 'priority', 'suspended')
                AND json_typeof(member.value) <> 'null'
        ), '')
        || '}'
    )::json
$$;
