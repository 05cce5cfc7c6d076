-- A host is what jobs share limits in, and what they are found by: with its port, where that is not its scheme's own. One
-- that asks for patience at one port says nothing of its others.

-- The host of a URL as jobs are filed by it; null without one.
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
    host := fetchd.host_of_url(spec #>> '{request,url}');
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
