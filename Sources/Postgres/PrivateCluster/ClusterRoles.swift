/// Who is who in a private cluster.
///
/// The superuser makes the others and is used for nothing else; the owner brings the schema up to date; the service works
/// with rows. Each is brought to what it should be at every start, for clusters that were made when there was but one.
enum ClusterRoles {
    static let superuser = "fetchd"
    static let owner = "fetchd_owner"
    static let service = "fetchd_service"
    static let all = [superuser, owner, service]
    static let database = "fetchd"

    /// Makes the roles and the database; on a connection to another database.
    static func make(on connection: Connection) async throws {
        try await connection.execute(script: roles)
        let found = try await connection.query("SELECT FROM pg_database WHERE datname = \(database)")
        guard found.isEmpty else { return }
        do throws(PostgresError) {
            try await connection.execute(script: "CREATE DATABASE \(database) OWNER \(owner)")
        } catch {
            // Another process was quicker, or is just now.
            guard error.sqlState == "42P04" || error.code == .uniqueViolation else { throw error }
        }
    }

    /// Gives what is in the database to its owner; on a connection to it.
    static func giveAway(on connection: Connection) async throws { try await connection.execute(script: ownership) }

    /// Several processes may come at once.
    private static let lock = "PERFORM pg_advisory_xact_lock(hashtext('fetchd roles'));"

    private static let roles = """
        -- cluster.roles
        DO $$
        BEGIN
            \(lock)
            IF to_regrole('\(owner)') IS NULL THEN CREATE ROLE \(owner) LOGIN; END IF;
            IF to_regrole('\(service)') IS NULL THEN CREATE ROLE \(service) LOGIN; END IF;
            IF EXISTS (
                SELECT FROM pg_roles
                WHERE rolname IN ('\(owner)', '\(service)')
                    AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolbypassrls OR rolreplication)
            ) THEN
                ALTER ROLE \(owner) NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION;
                ALTER ROLE \(service) NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION;
            END IF;
        END
        $$
        """

    /// `REASSIGN OWNED` refuses for the role that made the cluster, for whose sake half of the catalogue is there.
    private static let ownership = """
        -- cluster.ownership
        DO $$
        DECLARE
            command text;
            made_by CONSTANT oid := '\(superuser)'::regrole;
        BEGIN
            \(lock)
            IF EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND datdba = made_by) THEN
                ALTER DATABASE \(database) OWNER TO \(owner);
            END IF;
            IF has_database_privilege('\(service)', '\(database)', 'TEMPORARY') THEN
                REVOKE TEMPORARY ON DATABASE \(database) FROM PUBLIC;
            END IF;
            IF has_schema_privilege('\(service)', 'public', 'CREATE') THEN
                REVOKE CREATE ON SCHEMA public FROM PUBLIC;
            END IF;
            FOR command IN
                SELECT format('ALTER SCHEMA %I OWNER TO \(owner)', n.nspname)
                FROM pg_namespace n
                WHERE n.nspowner = made_by AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
                UNION ALL
                -- A sequence of a column goes with its table.
                SELECT format('ALTER TABLE %s OWNER TO \(owner)', c.oid::regclass)
                FROM pg_class c
                JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relowner = made_by AND c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname !~ '^pg_'
                    AND n.nspname <> 'information_schema'
                UNION ALL
                SELECT format('ALTER ROUTINE %s OWNER TO \(owner)', p.oid::regprocedure)
                FROM pg_proc p
                JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE p.proowner = made_by AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
                    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
                UNION ALL
                SELECT format('ALTER TYPE %s OWNER TO \(owner)', t.oid::regtype)
                FROM pg_type t
                JOIN pg_namespace n ON n.oid = t.typnamespace
                WHERE t.typowner = made_by AND t.typtype IN ('e', 'd') AND n.nspname !~ '^pg_'
                    AND n.nspname <> 'information_schema'
            LOOP
                EXECUTE command;
            END LOOP;
        END
        $$
        """
}
