-- A range is attached while nobody puts a row into what it divides.

-- Makes a range, unless there is one of its time; false when there are jobs of its time, which then stay where they are.
CREATE OR REPLACE FUNCTION add_job_range(starts_at timestamptz, ends_at timestamptz) RETURNS boolean
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
    -- A row whose way was chosen before fails in the default partition after: that its time has a range is not seen any
    -- more. Who reads does not wait.
    LOCK TABLE ONLY jobs, ONLY results, ONLY attempts IN SHARE ROW EXCLUSIVE MODE;
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

-- It gives up before PostgreSQL ends one of two transactions that wait for each other.
ALTER FUNCTION keep_job_ranges(interval) SET lock_timeout = '500ms';
