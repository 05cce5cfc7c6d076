-- Jobs, from their submission to their result, and the nodes that run them.

CREATE TABLE nodes (
    id uuid PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz NOT NULL,
    url text,
    volume bigint NOT NULL,
    roles text[] NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE nodes IS
    'The processes that run jobs. A node extends its lease while it lives; when the lease has run out, other nodes '
    'get its jobs. One row a node, written every few seconds, so that no job needs a heartbeat of its own';
COMMENT ON COLUMN nodes.lease_until IS 'Until then the jobs of the node are its own';
COMMENT ON COLUMN nodes.url IS 'Where other nodes reach it; null: they do not';
COMMENT ON COLUMN nodes.volume IS 'The data directory of the node, which the ids of the bytes in it name';
COMMENT ON COLUMN nodes.roles IS 'What the node does, of api, worker, courier and scheduler';

CREATE TABLE jobs (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    spec json NOT NULL,
    sealed_secrets bytea,
    host text COLLATE "C",
    kind text COLLATE "C",
    session text COLLATE "C",
    labels text[],
    schedule_id uuid,
    group_id uuid,
    PRIMARY KEY (tenant_id, id)
) PARTITION BY RANGE (id);
CREATE TABLE jobs_default PARTITION OF jobs DEFAULT;
COMMENT ON TABLE jobs IS
    'What was asked. Rows are written once. There are no foreign keys between the tables of a job: the statements '
    'that write them keep them together, and the checks would cost a lookup for each row on the hottest path';
COMMENT ON COLUMN jobs.spec IS 'The JobSpec; json, not jsonb, for the order of its members may reach the origin';
COMMENT ON COLUMN jobs.sealed_secrets IS
    'Secrets of the spec; AES-256-GCM, bound to this table, tenant and job; null: it has none';
COMMENT ON COLUMN jobs.host IS 'Host and port of the URL, from the spec, for filters; null: the URL has no host';
COMMENT ON COLUMN jobs.kind IS 'data, download or upload, from the spec, for filters';
COMMENT ON COLUMN jobs.session IS 'The session as the spec names it, for filters; null: the default session';
COMMENT ON COLUMN jobs.labels IS 'Each as tenant:name:value, since their index begins with them; null: none';
COMMENT ON COLUMN jobs.schedule_id IS 'The schedule that made the job; null: a client did';
COMMENT ON COLUMN jobs.group_id IS 'The group of the job; null: none';

CREATE INDEX jobs_group ON jobs (tenant_id, group_id, id) WHERE group_id IS NOT NULL;
COMMENT ON INDEX jobs_group IS 'jobs.list of a group, groups.counts';

CREATE INDEX jobs_host ON jobs (tenant_id, host, id) WHERE host IS NOT NULL;
COMMENT ON INDEX jobs_host IS 'jobs.list of a host';

CREATE INDEX jobs_kind ON jobs (tenant_id, kind, id) WHERE kind <> 'data';
COMMENT ON INDEX jobs_kind IS 'jobs.list of downloads and uploads; most jobs are neither';

CREATE INDEX jobs_labels ON jobs USING gin (labels) WITH (fastupdate=off) WHERE labels IS NOT NULL;
COMMENT ON INDEX jobs_labels IS 'jobs.list of labels, which begin with the tenant';

CREATE INDEX jobs_schedule ON jobs (tenant_id, schedule_id, id) WHERE schedule_id IS NOT NULL;
COMMENT ON INDEX jobs_schedule IS 'jobs.list of a schedule';

CREATE INDEX jobs_session ON jobs (tenant_id, session, id) WHERE session IS NOT NULL;
COMMENT ON INDEX jobs_session IS 'jobs.list of a session';

CREATE TABLE queue (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    rank smallint NOT NULL,
    run_at timestamptz NOT NULL DEFAULT now(),
    claim integer NOT NULL DEFAULT 0,
    node_id uuid,
    claimed_at timestamptz,
    begun boolean NOT NULL DEFAULT false,
    cancelling boolean NOT NULL DEFAULT false,
    endpoint_id uuid,
    session_id uuid,
    keeps_partial boolean NOT NULL DEFAULT false,
    scheduled boolean NOT NULL DEFAULT false,
    suspended boolean NOT NULL DEFAULT false,
    tries smallint NOT NULL DEFAULT 0,
    expires_at timestamptz,
    flow text COLLATE "C",
    host text COLLATE "C",
    gate text CHECK (gate IN ('flow', 'host')),
    in_flow boolean NOT NULL DEFAULT false,
    in_host boolean NOT NULL DEFAULT false,
    group_id uuid,
    discretionary boolean NOT NULL DEFAULT false,
    crashes smallint NOT NULL DEFAULT 0,
    trial_claim integer NOT NULL DEFAULT 0,
    is_changed boolean NOT NULL DEFAULT false,
    company smallint NOT NULL DEFAULT 0,
    question_id uuid,
    resumes_at uuid,
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT queue_claimed_by_a_node CHECK ((node_id IS NULL) = (claimed_at IS NULL)),
    CONSTRAINT queue_claims_are_counted CHECK (node_id IS NULL OR claim > 0),
    CONSTRAINT queue_gated_jobs_wait CHECK (gate IS NULL OR node_id IS NULL AND NOT scheduled),
    CONSTRAINT queue_gates_have_limiters CHECK (
        (gate IS DISTINCT FROM 'flow' AND NOT in_flow OR flow IS NOT NULL)
        AND (gate IS DISTINCT FROM 'host' AND NOT in_host OR host IS NOT NULL)
    ),
    CONSTRAINT queue_jobs_that_ask_are_held_or_parked CHECK (
        question_id IS NULL OR node_id IS NOT NULL OR question_id = resumes_at
    ),
    CONSTRAINT queue_scheduled_jobs_wait CHECK (node_id IS NULL OR NOT scheduled),
    CONSTRAINT queue_waiting_jobs_have_not_begun CHECK (node_id IS NOT NULL OR NOT (begun OR cancelling))
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE queue IS
    'Jobs that are not final. Only these rows change, and they are deleted when their jobs are final, so that final '
    'jobs cost waiting ones nothing';
COMMENT ON COLUMN queue.rank IS 'The lower one is claimed first: 1000 × (1 − priority)';
COMMENT ON COLUMN queue.run_at IS 'When the job is due';
COMMENT ON COLUMN queue.claim IS 'How often the job was claimed; every write of an attempt names it';
COMMENT ON COLUMN queue.node_id IS 'The node that has claimed the job; null while it waits';
COMMENT ON COLUMN queue.claimed_at IS 'Null while the job waits';
COMMENT ON COLUMN queue.begun IS 'A request that must not be repeated may have been sent';
COMMENT ON COLUMN queue.cancelling IS 'A client has cancelled the job while it ran';
COMMENT ON COLUMN queue.endpoint_id IS 'The webhook endpoint of the job; null: none';
COMMENT ON COLUMN queue.session_id IS 'The session of the job; null: the default session';
COMMENT ON COLUMN queue.keeps_partial IS
    'A download that is being cancelled keeps what it has, for another job to resume';
COMMENT ON COLUMN queue.scheduled IS 'The job waits for run_at: no claim sees it before it is promoted';
COMMENT ON COLUMN queue.suspended IS 'A client holds the job, wherever it is';
COMMENT ON COLUMN queue.tries IS 'How many attempts were followed by another one';
COMMENT ON COLUMN queue.expires_at IS 'The job is not started after this; null: it never expires';
COMMENT ON COLUMN queue.flow IS 'The flow of the job; null: none';
COMMENT ON COLUMN queue.host IS 'The host that the job loads from; null: that of its URL, and the job has met no limit of it';
COMMENT ON COLUMN queue.gate IS 'Which of its limiters the job waits for, flow or host; null: neither';
COMMENT ON COLUMN queue.in_flow IS 'The job has one of the places of its flow, until it is final or tried again';
COMMENT ON COLUMN queue.in_host IS 'The job has one of the places of its host, until it is final or tried again';
COMMENT ON COLUMN queue.group_id IS 'The group of the job; null: none';
COMMENT ON COLUMN queue.discretionary IS
    'The job waits for a quiet time, and no longer than to run_at; only while it is scheduled';
COMMENT ON COLUMN queue.crashes IS
    'How many nodes were lost that had the job; from the third on, only those where it ran alone';
COMMENT ON COLUMN queue.trial_claim IS
    'The claim under which the job runs alone as a suspect: the loss of its node is its fault; 0: none';
COMMENT ON COLUMN queue.is_changed IS
    'The job was changed after it was stored: the node that has it reads its spec again';
COMMENT ON COLUMN queue.company IS 'How many suspects the job was tried with the last time; 0: it was not';
COMMENT ON COLUMN queue.question_id IS 'The open question that the job waits for; null: none';
COMMENT ON COLUMN queue.resumes_at IS
    'The last question that was stored with a position: the next attempt goes on there; while it is open and no node '
    'has the job, the job is parked; null: the next attempt begins at its beginning';

CREATE INDEX queue_asking ON queue (tenant_id, job_id) WHERE question_id IS NOT NULL;
COMMENT ON INDEX queue_asking IS 'jobs.list of jobs that await a decision';

CREATE INDEX queue_cancelling ON queue (node_id) WHERE cancelling;
COMMENT ON INDEX queue_cancelling IS 'nodes.heartbeat';

CREATE INDEX queue_discretionary ON queue (run_at) WHERE discretionary AND scheduled;
COMMENT ON INDEX queue_discretionary IS
    'queue.pullForward, nodes.heartbeat; for all tenants, since any node may promote';

CREATE INDEX queue_expiring ON queue (expires_at) WHERE expires_at IS NOT NULL AND node_id IS NULL;
COMMENT ON INDEX queue_expiring IS 'queue.expire, nodes.heartbeat; for all tenants, since any node may end them';

CREATE INDEX queue_gated_flow ON queue (tenant_id, flow, job_id) WHERE gate = 'flow';
COMMENT ON INDEX queue_gated_flow IS 'limiters.admit in order; limiters.gated; limiters.find';

CREATE INDEX queue_gated_flow_rank ON queue (tenant_id, flow, rank, run_at, job_id) WHERE gate = 'flow';
COMMENT ON INDEX queue_gated_flow_rank IS 'limiters.admit to flows without an order';

CREATE INDEX queue_gated_host ON queue (tenant_id, host, rank, run_at, job_id) WHERE gate = 'host';
COMMENT ON INDEX queue_gated_host IS 'limiters.admit to hosts; limiters.gated; limiters.find';

CREATE INDEX queue_group ON queue (tenant_id, group_id, job_id) WHERE group_id IS NOT NULL;
COMMENT ON INDEX queue_group IS 'groups.quiet, groups.finish';

CREATE INDEX queue_held ON queue (tenant_id, job_id) WHERE scheduled OR suspended;
COMMENT ON INDEX queue_held IS 'jobs.list of scheduled and suspended jobs';

CREATE INDEX queue_in_flow ON queue (tenant_id, flow) WHERE in_flow;
COMMENT ON INDEX queue_in_flow IS 'limiters.admit: the places taken';

CREATE INDEX queue_in_host ON queue (tenant_id, host) WHERE in_host;
COMMENT ON INDEX queue_in_host IS 'limiters.admit: the places taken';

CREATE INDEX queue_running ON queue (tenant_id, job_id) WHERE node_id IS NOT NULL;
COMMENT ON INDEX queue_running IS 'jobs.list of running jobs; queue.rescue';

CREATE INDEX queue_scheduled ON queue (run_at) WHERE scheduled;
COMMENT ON INDEX queue_scheduled IS 'queue.promote, nodes.heartbeat; for all tenants, since any node may promote';

CREATE INDEX queue_session ON queue (tenant_id, session_id, job_id) WHERE session_id IS NOT NULL;
COMMENT ON INDEX queue_session IS 'sessions.quiet, sessions.outstanding';

CREATE INDEX queue_suspects ON queue (tenant_id, job_id) WHERE crashes >= 2 AND node_id IS NULL;
COMMENT ON INDEX queue_suspects IS
    'queue.nextTrial, queue.claimSuspects, nodes.heartbeat; for all tenants, since any node may try them';

CREATE INDEX queue_told ON queue (node_id) WHERE (suspended OR is_changed) AND node_id IS NOT NULL;
COMMENT ON INDEX queue_told IS 'nodes.heartbeat: what clients have said of jobs that run';

CREATE INDEX queue_waiting ON queue (tenant_id, rank, run_at, job_id)
    WHERE node_id IS NULL AND NOT scheduled AND NOT suspended AND gate IS NULL;
COMMENT ON INDEX queue_waiting IS 'queue.claim: the next tenant that waits, and the next jobs of one';

CREATE TABLE results (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL DEFAULT now(),
    attempt integer,
    status smallint,
    state text NOT NULL,
    response json,
    error_name text,
    error json,
    redirects json,
    body bytea,
    blob_id uuid,
    body_bytes bigint,
    body_digest bytea,
    file json,
    challenges json,
    transfers json,
    decisions json,
    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT results_a_blob_is_measured CHECK (
        (blob_id IS NULL OR body_bytes IS NOT NULL) AND (body_bytes IS NULL) = (body_digest IS NULL)
        AND (body_bytes IS NULL OR blob_id IS NOT NULL OR body IS NOT NULL)
    ),
    CONSTRAINT results_an_attempt_has_started CHECK (attempt IS NULL OR started_at IS NOT NULL),
    CONSTRAINT results_failure_has_an_error
        CHECK (state = 'succeeded' OR error IS NOT NULL AND error_name IS NOT NULL),
    CONSTRAINT results_one_place_for_the_body CHECK (body IS NULL OR blob_id IS NULL),
    CONSTRAINT results_state CHECK (state IN ('succeeded', 'failed', 'cancelled')),
    CONSTRAINT results_success_has_a_response CHECK (state <> 'succeeded' OR response IS NOT NULL AND error IS NULL)
) PARTITION BY RANGE (job_id);
-- Up to half a page a row is not parted: a further row for its body, with an entry in a further index, costs more.
CREATE TABLE results_default PARTITION OF results DEFAULT WITH (toast_tuple_target = 4080);
-- Bodies are compressed or random often enough, and read in ranges.
ALTER TABLE results ALTER body SET STORAGE EXTERNAL;
COMMENT ON TABLE results IS
    'What came of a final job, and its last attempt: most jobs have no other. Rows are written once';
COMMENT ON COLUMN results.state IS 'succeeded, failed or cancelled';
COMMENT ON COLUMN results.started_at IS 'Null: the job was cancelled before it ran';
COMMENT ON COLUMN results.status IS 'The status of the response; null: there was none';
COMMENT ON COLUMN results.response IS
    'URL, status, version, fields and more by their places in an array; an object: it had parts; null: there was none';
COMMENT ON COLUMN results.error_name IS 'Null: the job succeeded';
COMMENT ON COLUMN results.error IS 'Null: the job succeeded';
COMMENT ON COLUMN results.redirects IS 'Null: there was none';
COMMENT ON COLUMN results.body IS 'A small body; null: it is in the blob store, or there is none';
COMMENT ON COLUMN results.blob_id IS
    'A larger body, or the file of a download; null: the body is in this row, or there is none';
COMMENT ON COLUMN results.body_bytes IS 'Null: there is no body, or it is short and tells its length itself';
COMMENT ON COLUMN results.body_digest IS
    'SHA-256; null: there is no body, or it is short: hashed when somebody asks, it costs less than what is stored';
COMMENT ON COLUMN results.file IS 'blob, filename and more of a download; null: the job is none';
COMMENT ON COLUMN results.challenges IS 'Who asked for credentials, and the answer; null: nobody did';
COMMENT ON COLUMN results.attempt IS
    'The number of the attempt that the job ended with; null: it ended without one, waiting or with its node';
COMMENT ON COLUMN results.transfers IS 'Of that attempt, as in attempts';
COMMENT ON COLUMN results.decisions IS 'Of that attempt, as in attempts';

CREATE INDEX results_blob_id ON results (blob_id) WHERE blob_id IS NOT NULL;
COMMENT ON INDEX results_blob_id IS 'blobs.orphans: a file tells its id only';

CREATE INDEX results_error_name ON results (tenant_id, error_name, job_id) WHERE error_name IS NOT NULL;
COMMENT ON INDEX results_error_name IS 'jobs.list of an error';

CREATE INDEX results_http_errors ON results (tenant_id, job_id) INCLUDE (status) WHERE status >= 400;
COMMENT ON INDEX results_http_errors IS 'jobs.list by status, jobs.overviewOfAnswers';

CREATE INDEX results_unsuccessful ON results (tenant_id, state, job_id) WHERE state <> 'succeeded';
COMMENT ON INDEX results_unsuccessful IS 'jobs.list of failed and cancelled jobs; jobs.overview';

CREATE TABLE attempts (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    number integer NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('succeeded', 'failed', 'cancelled')),
    error_name text,
    transfers json,
    status smallint,
    next_at timestamptz,
    decisions json,
    PRIMARY KEY (tenant_id, job_id, number)
) PARTITION BY RANGE (job_id);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
COMMENT ON TABLE attempts IS
    'Executions of jobs on nodes that did not end them: another one followed, or the node was lost';
COMMENT ON COLUMN attempts.number IS 'The claim that it ran under';
COMMENT ON COLUMN attempts.state IS 'succeeded, failed or cancelled';
COMMENT ON COLUMN attempts.error_name IS 'Null: it succeeded';
COMMENT ON COLUMN attempts.transfers IS
    'The metrics of each transfer: an array of the values of members, without their names; null: its node was lost';
COMMENT ON COLUMN attempts.status IS 'Of the response that it got; null: none';
COMMENT ON COLUMN attempts.next_at IS 'When the next attempt was to start; null: none followed';
COMMENT ON COLUMN attempts.decisions IS
    'What rules and those who were asked have decided, in its order; null: nothing was asked';

CREATE TABLE job_counts (
    tenant_id bigint NOT NULL,
    minute timestamptz NOT NULL,
    node_id uuid NOT NULL,
    state text NOT NULL,
    jobs bigint NOT NULL,
    body_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, minute, node_id, state)
) WITH (fillfactor = 50);
COMMENT ON TABLE job_counts IS
    'Final jobs by minute, so that nobody counts rows. Each node has rows of its own: they never wait for each other';
COMMENT ON COLUMN job_counts.state IS 'succeeded, failed or cancelled';

CREATE TABLE kept_bodies (
    tenant_id bigint NOT NULL,
    node_id uuid NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, node_id)
) WITH (fillfactor = 10);
COMMENT ON TABLE kept_bodies IS
    'How many bytes the bodies of final jobs have that are kept with them; files of downloads are blobs, and count '
    'there. The sum of a tenant''s rows is exact: what stores or removes bodies adds here in the same statement. Nodes '
    'add to rows of their own, one for each statement and tenant, so none waits for another';
COMMENT ON COLUMN kept_bodies.node_id IS 'All zero: what nodes have added that are gone, and what went with partitions';
COMMENT ON COLUMN kept_bodies.bytes IS 'Less than 0 where a node has removed more than it has stored';

CREATE TABLE idempotency_keys (
    tenant_id bigint NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    created_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);
COMMENT ON TABLE idempotency_keys IS 'What the Idempotency-Key of a request has created';
COMMENT ON COLUMN idempotency_keys.fingerprint IS 'SHA-256 of the request: the same key with another one is refused';
COMMENT ON COLUMN idempotency_keys.created_id IS 'The id of the job, group, schedule, session or blob';

CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at);
COMMENT ON INDEX idempotency_keys_created_at IS 'expired.idempotencyKeys';

CREATE TABLE unique_keys (
    tenant_id bigint NOT NULL,
    key text NOT NULL,
    job_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
COMMENT ON TABLE unique_keys IS 'The job that others with the same unique key are taken for';
COMMENT ON COLUMN unique_keys.expires_at IS 'When the window of the job is over: the next one takes its place';

CREATE INDEX unique_keys_expires_at ON unique_keys (expires_at);
COMMENT ON INDEX unique_keys_expires_at IS 'expired.uniqueKeys';

CREATE TABLE owed_callbacks (
    tenant_id bigint NOT NULL,
    job_id uuid NOT NULL,
    error_name text NOT NULL,
    PRIMARY KEY (tenant_id, job_id)
);
COMMENT ON TABLE owed_callbacks IS
    'Jobs that failed where no node ran them, until the jobs are stored that tell of it';
COMMENT ON COLUMN owed_callbacks.error_name IS 'Of the result of the job';

CREATE TABLE job_partitions (
    starts_at timestamptz PRIMARY KEY,
    ends_at timestamptz NOT NULL,
    name text NOT NULL UNIQUE,
    CONSTRAINT job_partitions_are_not_empty CHECK (starts_at < ends_at)
);
COMMENT ON TABLE job_partitions IS
    'Partitions of jobs, results and attempts, by the time of their ids; what is in none is in the default partition';
COMMENT ON COLUMN job_partitions.name IS 'The end of the names of its three tables';

CREATE FUNCTION earliest_id(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT encode(
        substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) || decode('00000000000000000000', 'hex'),
        'hex'
    )::uuid
$$;
COMMENT ON FUNCTION earliest_id(at timestamptz) IS 'the id that comes before all that were made at this time or later';

CREATE FUNCTION add_job_partition(starts_at timestamptz, ends_at timestamptz) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    suffix CONSTANT text := to_char(starts_at AT TIME ZONE 'UTC', 'YYYYMMDD"t"HH24MISS');
    part text;
BEGIN
    IF EXISTS (
        SELECT
        FROM job_partitions r
        WHERE r.starts_at < add_job_partition.ends_at AND r.ends_at > add_job_partition.starts_at
    ) THEN
        RETURN false;
    END IF;
    -- A row whose way was chosen before fails in the default partition after: that its time has a partition is not
    -- seen any more. Who reads does not wait.
    LOCK TABLE ONLY jobs, ONLY results, ONLY attempts IN SHARE ROW EXCLUSIVE MODE;
    FOREACH part IN ARRAY ARRAY['jobs', 'results', 'attempts'] LOOP
        EXECUTE format(
            'CREATE TABLE %1$s_%2$s (LIKE %1$s INCLUDING ALL)%3$s', part, suffix,
            CASE part WHEN 'results' THEN ' WITH (toast_tuple_target = 4080)' END);
        -- Attached, not made as a partition at once: so it does not wait for whoever reads the others.
        EXECUTE format(
            'ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$L) TO (%4$L)', part, suffix,
            earliest_id(starts_at), earliest_id(ends_at));
    END LOOP;
    INSERT INTO job_partitions (starts_at, ends_at, name)
    VALUES (add_job_partition.starts_at, add_job_partition.ends_at, suffix);
    RETURN true;
EXCEPTION
    -- The default partition has rows that would belong there.
    WHEN check_violation THEN RETURN false;
END
$$;
COMMENT ON FUNCTION add_job_partition(starts_at timestamptz, ends_at timestamptz) IS
    'makes a partition, unless there is one of its time; false: there are jobs of its time in the default partition, '
    'where they stay';

CREATE FUNCTION drop_job_partition(target job_partitions, retention interval) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    is_needed boolean;
BEGIN
    -- From here on nobody puts a job of it into the queue again.
    EXECUTE format('LOCK TABLE results_%s IN ACCESS EXCLUSIVE MODE', target.name);
    IF EXISTS (
        SELECT FROM queue q WHERE q.job_id >= earliest_id(target.starts_at) AND q.job_id < earliest_id(target.ends_at)
    ) THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'SELECT count(*) > 0 FROM (SELECT 1 FROM results_%s WHERE finished_at >= $1 LIMIT 1) AS recent', target.name)
        INTO is_needed
        USING now() - retention;
    IF is_needed THEN RETURN false; END IF;
    EXECUTE format(
        'INSERT INTO kept_bodies (tenant_id, node_id, bytes)
        SELECT tenant_id, ''00000000-0000-0000-0000-000000000000'', -sum(coalesce(body_bytes, octet_length(body)))
        FROM results_%s
        WHERE (body_bytes > 0 OR octet_length(body) > 0) AND file IS NULL
        GROUP BY tenant_id
        ORDER BY tenant_id
        ON CONFLICT (tenant_id, node_id) DO UPDATE SET bytes = kept_bodies.bytes + excluded.bytes', target.name);
    EXECUTE format('DROP TABLE jobs_%1$s, results_%1$s, attempts_%1$s', target.name);
    DELETE FROM job_partitions r WHERE r.name = target.name;
    RETURN true;
END
$$;
COMMENT ON FUNCTION drop_job_partition(target job_partitions, retention interval) IS
    'drops a partition, unless a job of it is not final, or has been final for less than that time';

CREATE FUNCTION maintain_job_partitions(retention interval) RETURNS integer
LANGUAGE plpgsql
-- Whoever holds a table for long is not waited for: others would wait behind us. It gives up before PostgreSQL ends one
-- of two transactions that wait for each other. The next look tries again.
SET lock_timeout = '500ms'
AS $$
DECLARE
    width CONSTANT bigint := greatest(3600, extract(epoch FROM retention) / 6);
    start timestamptz;
    target job_partitions;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('job_partitions')) THEN RETURN 0; END IF;
    SELECT greatest(max(r.ends_at), to_timestamp(floor(extract(epoch FROM now()) / width) * width)) INTO start
    FROM job_partitions r;
    WHILE start < now() + make_interval(secs => width) LOOP
        PERFORM add_job_partition(start, start + make_interval(secs => width));
        start := start + make_interval(secs => width);
    END LOOP;
    FOR target IN SELECT * FROM job_partitions r WHERE r.ends_at < now() - retention ORDER BY r.starts_at LOOP
        IF drop_job_partition(target, retention) THEN dropped := dropped + 1; END IF;
    END LOOP;
    RETURN dropped;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN RETURN 0;
END
$$;
COMMENT ON FUNCTION maintain_job_partitions(retention interval) IS
    'makes the partition of now and the next one, and drops those that nobody needs; how many were dropped. A '
    'partition is a sixth of the retention, an hour at least';
