-- One deployment over several servers (docs/SCALE.md): where the extension Citus is, the tables of what jobs were and
-- became are distributed by tenant. What changes all the time stays on the coordinator, whose statements lock it.

CREATE FUNCTION distribute_tables() RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    part text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = 'jobs'::regclass) THEN
        RETURN true;
    END IF;
    -- Claims find the hosts of jobs in the queue alone.
    UPDATE queue q SET host = j.host FROM jobs j WHERE q.host IS NULL AND j.tenant_id = q.tenant_id AND j.id = q.job_id;
    -- Partitions of one table are made one after the other.
    SET LOCAL citus.multi_shard_modify_mode = 'sequential';
    FOREACH part IN ARRAY ARRAY['jobs', 'results', 'attempts'] LOOP
        -- The servers of shards do not know the tenant that a statement serves: no role of tenants reads them.
        EXECUTE format('DROP POLICY of_all ON %I', part);
        EXECUTE format('DROP POLICY of_tenant ON %I', part);
        EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', part);
        EXECUTE format('REVOKE ALL ON %I FROM fetchd_tenant', part);
        PERFORM create_distributed_table(
            part, 'tenant_id', colocate_with => CASE part WHEN 'jobs' THEN 'none' ELSE 'jobs' END);
        -- The rows are on the workers now.
        PERFORM truncate_local_data_after_distributing_table(part::regclass);
    END LOOP;
    RETURN true;
END
$$;
COMMENT ON FUNCTION distribute_tables() IS
    'spreads jobs, results and attempts over the servers of the extension Citus, where it is; false: it is not. Changes '
    'nothing where that was done';
REVOKE EXECUTE ON FUNCTION distribute_tables() FROM PUBLIC;

CREATE FUNCTION check_distributed_invariants(patience interval, kept interval)
RETURNS TABLE(invariant text, violations bigint, example text)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT q.tenant_id, q.job_id, q.group_id, q.session_id FROM queue q
    ), waiting_result AS MATERIALIZED (
        SELECT w.job_id
        FROM waiting w
        JOIN results r ON r.tenant_id = w.tenant_id AND r.job_id = w.job_id
    ), waiting_job AS MATERIALIZED (
        SELECT w.tenant_id, w.job_id
        FROM waiting w
        JOIN jobs j ON j.tenant_id = w.tenant_id AND j.id = w.job_id
    ), job_without_result AS MATERIALIZED (
        SELECT j.tenant_id, j.id
        FROM jobs j
        LEFT JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
        WHERE r.job_id IS NULL
    ), result_without_job AS MATERIALIZED (
        SELECT r.job_id
        FROM results r
        LEFT JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
        WHERE j.id IS NULL
    ), late AS MATERIALIZED (
        SELECT j.tenant_id, j.group_id, j.session
        FROM jobs j
        JOIN results r ON r.tenant_id = j.tenant_id AND r.job_id = j.id
        WHERE r.finished_at >= now() - patience AND (j.group_id IS NOT NULL OR j.session IS NOT NULL)
    ), told AS MATERIALIZED (
        SELECT j.tenant_id, j.id, j.session, j.spec, r.finished_at
        FROM results r
        JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
        WHERE r.finished_at > now() - kept
            AND (j.session IS NOT NULL OR j.spec #>> '{webhook,endpoint}' IS NOT NULL)
    ), found AS (
        SELECT 'a job that has its result is not in the queue' AS invariant, 'job' AS kind, w.job_id AS id
        FROM waiting_result w
        UNION ALL
        SELECT 'a job is in the queue, or has its result', 'job', j.id
        FROM job_without_result j
        WHERE NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = j.tenant_id AND q.job_id = j.id)
        UNION ALL
        SELECT 'what is in the queue is a job', 'job', w.job_id
        FROM waiting w
        WHERE NOT EXISTS (SELECT FROM waiting_job j WHERE j.tenant_id = w.tenant_id AND j.job_id = w.job_id)
        UNION ALL
        SELECT 'what has a result is a job', 'job', r.job_id FROM result_without_job r
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
            AND NOT EXISTS (SELECT FROM late l WHERE l.tenant_id = g.tenant_id AND l.group_id = g.id)
        UNION ALL
        SELECT 'a session that ends and has no jobs to be done is invalidated', 'ses', s.id
        FROM sessions s
        WHERE s.state IN ('finishing', 'cancelling') AND s.invalidated_at < now() - patience
            AND NOT EXISTS (SELECT FROM queue q WHERE q.tenant_id = s.tenant_id AND q.session_id = s.id)
            AND NOT EXISTS (
                SELECT FROM late l WHERE l.tenant_id = s.tenant_id AND l.session = fetchd.text_of_id('ses', s.id)
            )
        UNION ALL
        SELECT 'the end of a job is told to the endpoint that asked for it', 'job', o.id
        FROM told o
        LEFT JOIN sessions s ON s.tenant_id = o.tenant_id AND s.id = fetchd.id_of_text('ses', o.session)
        JOIN webhook_endpoints e ON e.tenant_id = o.tenant_id
            AND e.id = coalesce(fetchd.id_of_text('whe', o.spec #>> '{webhook,endpoint}'), s.endpoint_id)
        WHERE o.finished_at > e.events_changed_at AND wants_event(o.spec, e.events, 'job.finished')
            AND NOT EXISTS (
                SELECT
                FROM webhook_deliveries d
                WHERE d.tenant_id = o.tenant_id AND d.job_id = o.id AND d.event = 'job.finished'
            )
    )
    SELECT f.invariant, count(*), fetchd.text_of_id(min(f.kind), (array_agg(f.id))[1])
    FROM found f
    GROUP BY f.invariant
    ORDER BY f.invariant;
END
$$;
COMMENT ON FUNCTION check_distributed_invariants(patience interval, kept interval) IS
    'check_invariants over tables that are distributed, which a look of its own reads before those of the coordinator';
