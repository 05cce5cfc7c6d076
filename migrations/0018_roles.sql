-- Who may do what in the database (deploy/README.md): the owner of the schema runs migrations, and
--
--   fetchd_service  reads and writes the rows of all tenants; a running service logs in as it, or as a member
--   fetchd_tenant   reads and writes the rows of one tenant, which the setting fetchd.tenant names
--   fetchd_reader   reads, but neither keys nor columns of bytes or JSON, which hold what clients and origins wrote
--
-- Roles belong to all databases of a server, and only a migration with the right to do so makes those that are missing.

DO $$
DECLARE
    role name;
BEGIN
    FOREACH role IN ARRAY ARRAY['fetchd_service', 'fetchd_tenant', 'fetchd_reader'] LOOP
        CONTINUE WHEN to_regrole(role::text) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        EXCEPTION
            -- Another database of the server is migrated at the same time.
            WHEN duplicate_object OR unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE insufficient_privilege USING MESSAGE = format(
                    'there is no role %1$s, and %2$s may not make it: run, as a role that may, "CREATE ROLE %1$s NOLOGIN; '
                    'GRANT %1$s TO %2$s"', role, current_user);
        END;
    END LOOP;
END
$$;

-- Whoever runs statements takes the role of a tenant for those that serve one.
DO $$
DECLARE
    role name;
    asked CONSTANT text :=
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END;
BEGIN
    FOREACH role IN ARRAY ARRAY[current_user, 'fetchd_service'] LOOP
        CONTINUE WHEN pg_has_role(role, 'fetchd_tenant', asked);
        BEGIN
            EXECUTE format('GRANT fetchd_tenant TO %I', role);
        EXCEPTION
            WHEN unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE insufficient_privilege USING MESSAGE = format(
                    '%1$s is no member of fetchd_tenant, and %2$s may not change that: run, as a role that may, '
                    '"GRANT fetchd_tenant TO %1$s"', role, current_user);
        END;
    END LOOP;
END
$$;

-- Of the service: rows, and the functions that do as the owner what no other role may.
DO $$
DECLARE
    part regclass;
BEGIN
    EXECUTE format(
        'GRANT USAGE ON SCHEMA %I, fetchd TO fetchd_service, fetchd_tenant, fetchd_reader', current_schema());
    FOR part IN
        SELECT c.oid
        FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
            AND c.relname NOT IN ('schema_migrations', 'audit_entries', 'audit_chains')
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO fetchd_service', part);
    END LOOP;
    -- Tables of later migrations, and partitions.
    EXECUTE format(
        'ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO fetchd_service',
        current_schema());
END
$$;
GRANT SELECT ON schema_migrations TO fetchd_service;
-- It adds to the audit log, and changes nothing of it.
GRANT SELECT, INSERT ON audit_entries TO fetchd_service;
GRANT SELECT ON audit_chains TO fetchd_service;
GRANT EXECUTE ON FUNCTION
    maintain_job_partitions(interval), seal_audit_entries(bigint, integer),
    remove_audit_entries(bigint, interval, bigint, integer)
    TO fetchd_service;

CREATE FUNCTION fetchd.guard_table(part regclass, privileges text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    owner CONSTANT name := CASE WHEN part = 'tenants'::regclass THEN 'id' ELSE 'tenant_id' END;
    readable text;
BEGIN
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) INTO readable
    FROM pg_attribute a
    WHERE a.attrelid = part AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid NOT IN ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype);
    EXECUTE format('GRANT SELECT (%s) ON %s TO fetchd_reader', readable, part);
    IF privileges <> '' THEN
        EXECUTE format('GRANT %s ON %s TO fetchd_tenant', privileges, part);
    END IF;
    IF EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = part AND a.attname = owner AND NOT a.attisdropped) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('CREATE POLICY of_all ON %s TO fetchd_service, fetchd_reader USING (true)', part);
        -- A subquery is evaluated once for the statement, not for each row.
        EXECUTE format(
            'CREATE POLICY of_tenant ON %s TO fetchd_tenant '
            'USING (%I = (SELECT nullif(current_setting(''fetchd.tenant'', true), '''')::bigint))', part, owner);
    END IF;
END
$$;
COMMENT ON FUNCTION fetchd.guard_table(regclass, text) IS
    'gives fetchd_reader what it may read of a table and fetchd_tenant these privileges on the rows of its tenant; each '
    'migration that makes a table calls it';
REVOKE EXECUTE ON FUNCTION fetchd.guard_table(regclass, text) FROM PUBLIC;

SELECT fetchd.guard_table(
    c.oid,
    CASE
        WHEN c.relname = 'audit_entries' THEN 'SELECT, INSERT'
        WHEN c.relname = 'kept_bodies' THEN 'SELECT, INSERT, UPDATE'
        WHEN c.relname IN ('audit_chains', 'nodes', 'queue_state', 'tenants', 'traffic') THEN 'SELECT'
        -- Of operators, or without a tenant.
        WHEN c.relname IN ('dashboard_links', 'egress', 'enqueue_grants') OR a.attnum IS NULL THEN ''
        ELSE 'SELECT, INSERT, UPDATE, DELETE'
    END
)
FROM pg_class c
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname NOT IN ('schema_migrations', 'service_keys', 'tenant_keys');
