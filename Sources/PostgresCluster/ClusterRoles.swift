import Postgres

/// The roles of a private cluster.
///
/// The superuser makes the others and is used for nothing else; the owner brings the schema up to date; the service
/// works with rows, and takes the role `tenant` for statements that serve one tenant. Nobody logs in as that, nor as the
/// reader. Each is brought to its proper state at every start.
enum ClusterRoles {
    static let superuser = "fetchd"
    static let owner = "fetchd_owner"
    static let service = "fetchd_service"
    private static let tenant = "fetchd_tenant"
    private static let reader = "fetchd_reader"
    /// Those that log in.
    static let all = [superuser, owner, service]
    static let database = "fetchd"

    /// Makes the roles and the database; on a connection to another database.
    static func make(on connection: Connection) async throws {
        try await connection.execute(script: roles)
        let databases = try await connection.query("SELECT FROM pg_database WHERE datname = \(database)")
        guard databases.isEmpty else { return }
        do throws(PostgresError) {
            try await connection.execute(script: "CREATE DATABASE \(database) OWNER \(owner)")
        } catch {
            // Another process was quicker, or is just now.
            guard error.sqlState == "42P04" || error.code == .uniqueViolation else { throw error }
        }
    }

    /// Takes privileges that the service does not need from it; on a connection to the database.
    static func restrict(on connection: Connection) async throws { try await connection.execute(script: privileges) }

    /// Several processes may come at once.
    private static let lock = "PERFORM pg_advisory_xact_lock(hashtext('fetchd roles'));"

    private static let roles = """
        -- cluster.roles
        DO $$
        BEGIN
            \(lock)
            IF to_regrole('\(owner)') IS NULL THEN CREATE ROLE \(owner) LOGIN; END IF;
            IF to_regrole('\(service)') IS NULL THEN CREATE ROLE \(service) LOGIN; END IF;
            IF to_regrole('\(tenant)') IS NULL THEN CREATE ROLE \(tenant) NOLOGIN; END IF;
            IF to_regrole('\(reader)') IS NULL THEN CREATE ROLE \(reader) NOLOGIN; END IF;
            GRANT \(tenant) TO \(owner), \(service);
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

    /// Revokes the privileges that PostgreSQL gives to everybody.
    private static let privileges = """
        -- cluster.privileges
        DO $$
        BEGIN
            \(lock)
            IF has_database_privilege('\(service)', '\(database)', 'TEMPORARY') THEN
                REVOKE TEMPORARY ON DATABASE \(database) FROM PUBLIC;
            END IF;
            IF has_schema_privilege('\(service)', 'public', 'CREATE') THEN
                REVOKE CREATE ON SCHEMA public FROM PUBLIC;
            END IF;
        END
        $$
        """
}
