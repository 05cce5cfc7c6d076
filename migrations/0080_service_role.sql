-- The running service works with rows and makes no tables: whoever owns the schema lets another role do just that
-- (deploy/README.md, "Two roles for the database").

-- Lets a role run the service; what it has already is left alone.
CREATE FUNCTION fetchd.allow_service(role name) RETURNS void
LANGUAGE plpgsql
SET search_path = public, pg_temp
AS $$
DECLARE
    ledger CONSTANT oid := 'schema_migrations'::regclass;
    part regclass;
BEGIN
    -- Nodes that start at the same time grant it once.
    PERFORM pg_advisory_xact_lock(hashtext('fetchd.allow_service'));
    IF NOT has_schema_privilege(allow_service.role, 'public', 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', allow_service.role);
    END IF;
    IF NOT has_function_privilege(allow_service.role, 'keep_job_ranges(interval)', 'EXECUTE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA fetchd TO %I', allow_service.role);
        EXECUTE format('GRANT SELECT ON schema_migrations TO %I', allow_service.role);
        EXECUTE format('GRANT EXECUTE ON FUNCTION keep_job_ranges(interval) TO %I', allow_service.role);
        -- Those of later migrations, and the ranges that are made meanwhile.
        EXECUTE format(
            'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I',
            allow_service.role);
    END IF;
    FOR part IN
        SELECT c.oid
        FROM pg_class c
        JOIN pg_class l ON l.oid = ledger AND l.relowner = c.relowner AND l.relnamespace = c.relnamespace
        WHERE c.oid <> ledger AND c.relkind IN ('r', 'p')
            AND NOT (
                has_table_privilege(allow_service.role, c.oid, 'SELECT')
                AND has_table_privilege(allow_service.role, c.oid, 'INSERT')
                AND has_table_privilege(allow_service.role, c.oid, 'UPDATE')
                AND has_table_privilege(allow_service.role, c.oid, 'DELETE')
            )
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', part, allow_service.role);
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION fetchd.allow_service(name) FROM PUBLIC;

-- Retention makes and drops tables, which is the owner's to do: the service asks for it by this one function.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION keep_job_ranges(interval) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE EXECUTE ON FUNCTION keep_job_ranges(interval) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION add_job_range(timestamptz, timestamptz) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION drop_job_range(job_ranges, interval) FROM PUBLIC;
