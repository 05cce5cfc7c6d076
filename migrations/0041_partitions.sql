-- Jobs, results and attempts by time, so that retention drops tables and does not delete rows.
--
-- Ranges are of ids, which begin with the time that jobs were stored at: so reads by id look into one range, and keys
-- stay as they are. What is in no range is in the default partition, where all is while nothing says how long jobs are
-- kept. The ranges are made ahead and dropped by nodes (jobs.keepRanges).

DO $$
DECLARE
    part record;
    old record;
    definition text;
    -- Of the indexes, to be made again for the table as a whole.
    definitions text[];
BEGIN
    FOR part IN SELECT * FROM (VALUES ('jobs', 'id'), ('results', 'job_id'), ('attempts', 'job_id')) AS part (name, id)
    LOOP
        definitions := '{}';
        FOR old IN
            SELECT c.relname AS name, obj_description(i.indexrelid, 'pg_class') AS comment,
                CASE
                    WHEN k.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
                    ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', part.name, c.relname, pg_get_constraintdef(k.oid))
                END AS definition
            FROM pg_index i
            JOIN pg_class c ON c.oid = i.indexrelid
            LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'p'
            WHERE i.indrelid = part.name::regclass
            ORDER BY c.relname
        LOOP
            definitions := definitions || old.definition;
            IF old.comment IS NOT NULL THEN
                definitions := definitions || format('COMMENT ON INDEX %I IS %L', old.name, old.comment);
            END IF;
            EXECUTE format(
                'ALTER INDEX %I RENAME TO %I', old.name, replace(old.name, part.name || '_', part.name || '_default_'));
        END LOOP;
        EXECUTE format('ALTER TABLE %1$I RENAME TO %1$s_default', part.name);
        EXECUTE format(
            'CREATE TABLE %1$I (LIKE %1$s_default INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (%2$I)',
            part.name, part.id);
        FOREACH definition IN ARRAY definitions LOOP EXECUTE definition; END LOOP;
        -- Its own indexes become parts of these.
        EXECUTE format('ALTER TABLE %1$I ATTACH PARTITION %1$s_default DEFAULT', part.name);
    END LOOP;
END
$$;

-- The ranges there are, each a table of jobs, of results and of attempts.
CREATE TABLE job_ranges (
    starts_at timestamptz PRIMARY KEY,
    ends_at timestamptz NOT NULL,
    -- What the names of its tables end with.
    name text NOT NULL UNIQUE,
    CONSTRAINT job_ranges_are_not_empty CHECK (starts_at < ends_at)
);

-- The id that comes before all that were made at this time or later.
CREATE FUNCTION earliest_id(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT encode(
        substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) || decode('00000000000000000000', 'hex'),
        'hex'
    )::uuid
$$;

-- Makes a range, unless there is one of its time; false when there are jobs of its time, which then stay where they are.
CREATE FUNCTION add_job_range(starts_at timestamptz, ends_at timestamptz) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    suffix CONSTANT text := to_char(starts_at AT TIME ZONE 'UTC', 'YYYYMMDD"t"HH24MISS');
    part text;
BEGIN
    IF EXISTS (
        SELECT FROM job_ranges r WHERE r.starts_at < add_job_range.ends_at AND r.ends_at > add_job_range.starts_at
    ) THEN
        RETURN false;
    END IF;
    FOREACH part IN ARRAY ARRAY['jobs', 'results', 'attempts'] LOOP
        EXECUTE format('CREATE TABLE %1$s_%2$s (LIKE %1$s INCLUDING ALL)', part, suffix);
        -- Attached, not made as a partition at once: so it does not wait for whoever reads the others.
        EXECUTE format(
            'ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES FROM (%3$L) TO (%4$L)', part, suffix,
            earliest_id(starts_at), earliest_id(ends_at));
    END LOOP;
    INSERT INTO job_ranges (starts_at, ends_at, name) VALUES (add_job_range.starts_at, add_job_range.ends_at, suffix);
    RETURN true;
EXCEPTION
    -- The default partition has rows that would belong there.
    WHEN check_violation THEN RETURN false;
END
$$;

-- Drops a range, unless some job of it is not final, or has been final for less than that time.
CREATE FUNCTION drop_job_range(range job_ranges, retention interval) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    is_needed boolean;
BEGIN
    -- From here on nobody puts a job of it into the queue again.
    EXECUTE format('LOCK TABLE results_%s IN ACCESS EXCLUSIVE MODE', range.name);
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM queue WHERE job_id >= $1 AND job_id < $2)
            OR EXISTS (SELECT FROM results_%s WHERE finished_at >= now() - $3)', range.name)
        INTO is_needed
        USING earliest_id(range.starts_at), earliest_id(range.ends_at), retention;
    IF is_needed THEN RETURN false; END IF;
    EXECUTE format('DROP TABLE jobs_%1$s, results_%1$s, attempts_%1$s', range.name);
    DELETE FROM job_ranges r WHERE r.name = range.name;
    RETURN true;
END
$$;

-- Makes the range of now and the one after it, and drops those that nobody needs any more; how many were dropped.
--
-- A range is a sixth of the time that jobs are kept, an hour at least: so there are some eight of them.
CREATE FUNCTION keep_job_ranges(retention interval) RETURNS integer
LANGUAGE plpgsql
-- Whoever holds a table for long is not waited for: others would wait behind us. The next look tries again.
SET lock_timeout = '1s'
AS $$
DECLARE
    width CONSTANT bigint := greatest(3600, extract(epoch FROM retention) / 6);
    start timestamptz;
    range job_ranges;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('job_ranges')) THEN RETURN 0; END IF;
    SELECT greatest(max(r.ends_at), to_timestamp(floor(extract(epoch FROM now()) / width) * width)) INTO start
    FROM job_ranges r;
    WHILE start < now() + make_interval(secs => width) LOOP
        PERFORM add_job_range(start, start + make_interval(secs => width));
        start := start + make_interval(secs => width);
    END LOOP;
    FOR range IN SELECT * FROM job_ranges r WHERE r.ends_at < now() - retention ORDER BY r.starts_at LOOP
        IF drop_job_range(range, retention) THEN dropped := dropped + 1; END IF;
    END LOOP;
    RETURN dropped;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN RETURN 0;
END
$$;
