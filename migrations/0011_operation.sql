-- What operators and the running service ask of the schema (deploy/README.md).

-- Retention makes and drops partitions, as the owner may: the service asks for it by this one function.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION maintain_job_partitions(interval) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE EXECUTE ON FUNCTION maintain_job_partitions(interval) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION add_job_partition(timestamptz, timestamptz) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION drop_job_partition(job_partitions, interval) FROM PUBLIC;

CREATE FUNCTION check_invariants(patience interval, kept interval) RETURNS TABLE(invariant text, violations bigint, example text)
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
        SELECT 'a job that waits for an answer has an open question', 'job', q.job_id
        FROM queue q
        WHERE q.question_id IS NOT NULL AND q.claimed_at < now() - patience
            AND NOT EXISTS (
                SELECT FROM questions a WHERE a.tenant_id = q.tenant_id AND a.id = q.question_id AND a.state = 'open'
            )
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
        -- As far back as deliveries are kept, and as the endpoint has wanted what it wants now.
        SELECT 'the end of a job is told to the endpoint that asked for it', 'job', r.job_id
        FROM results r
        JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
        LEFT JOIN sessions s ON s.tenant_id = j.tenant_id AND s.id = fetchd.id_of_text('ses', j.session)
        JOIN webhook_endpoints e ON e.tenant_id = j.tenant_id
            AND e.id = coalesce(fetchd.id_of_text('whe', j.spec #>> '{webhook,endpoint}'), s.endpoint_id)
        WHERE r.finished_at > now() - kept AND r.finished_at > e.events_changed_at
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
COMMENT ON FUNCTION check_invariants(patience interval, kept interval) IS
    'what is broken: each invariant that does not hold, how often, and one example; what comes by itself may be late '
    'by the patience, and ends are looked for as far back as deliveries are kept';
