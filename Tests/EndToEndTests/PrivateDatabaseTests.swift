import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// The rights of the service in the database that it runs itself, and what that database's processes know of it.
@Suite(
    .timeLimit(.minutes(3)),
    .sharedService(settings: ["S3_PREFIX": "planted", "RETENTION_DAYS": "7"], ownsDatabase: true)
)
struct PrivateDatabaseTests {
    private static func connect(
        as role: String, to place: ServiceProcess.Place
    ) async throws -> Connection {
        let socket = try #require(try Self.socketDirectory(place))
        return try await Connection.open(
            .init(connectionString: "host='\(socket)' user=\(role) dbname=fetchd"), on: TestDatabase.loop)
    }

    /// Where the server says that its socket is.
    private static func socketDirectory(_ place: ServiceProcess.Place) throws -> String? {
        let text = try String(contentsOfFile: "\(try data(place))/postmaster.pid", encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(4).first.map(String.init)
    }

    private static func data(_ place: ServiceProcess.Place) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(place.directory)/postgres")
        return "\(place.directory)/postgres/" + (try #require(names.first { $0.hasPrefix("pg") }))
    }

    private static func postmaster(_ place: ServiceProcess.Place) throws -> pid_t {
        let text = try String(contentsOfFile: "\(try data(place))/postmaster.pid", encoding: .utf8)
        return try #require(pid_t(text.prefix { $0.isNumber }))
    }

    private static func text(_ query: Query, on connection: Connection) async throws -> [String] {
        try await connection.query(query).map { try $0.decode(at: 0) }
    }

    // R47
    @Test func `without a database the same program runs its own, and does the same`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer(body: "x"))
        let job = try await rig.service.fetch(play.url())
        #expect(member(job, "response", "status") == 200)
        #expect(play.requests.count == 1)
    }

    // Proves: SEC-80.
    @Test func `the service works with rows, and is let to do nothing else`() async throws {
        let rig = try SharedService.current
        let job = try await rig.service.fetch(rig.stage.play(answer(body: "x")).url())
        #expect(member(job, "response", "status") == 200)
        let connection = try await Self.connect(as: "fetchd_service", to: rig.place)
        #expect(
            try await Self.text(
                """
                SELECT rolname::text FROM pg_roles
                WHERE rolname IN ('fetchd_owner', 'fetchd_service', 'fetchd_tenant')
                    AND NOT (rolsuper OR rolcreatedb OR rolcreaterole OR rolbypassrls OR rolreplication)
                ORDER BY rolname
                """, on: connection) == ["fetchd_owner", "fetchd_service", "fetchd_tenant"])
        #expect(
            try await Self.text(
                "SELECT DISTINCT usename::text FROM pg_stat_activity WHERE datname = 'fetchd'", on: connection)
                == ["fetchd_service"])
        for statement in [
            "CREATE TABLE t (n int)", "CREATE TEMPORARY TABLE t (n int)", "CREATE SCHEMA s", "DROP TABLE blobs",
            "ALTER TABLE jobs ADD n int", "TRUNCATE jobs", "CREATE ROLE r", "ALTER ROLE fetchd_service SUPERUSER",
            "CREATE DATABASE d", "DELETE FROM schema_migrations", "SET ROLE fetchd_owner", "SET ROLE fetchd",
            "COPY jobs TO PROGRAM 'true'", "ALTER SYSTEM SET fsync = off", "SELECT pg_read_file('PG_VERSION')",
            "SELECT fetchd.guard_table('jobs', '')", "SELECT add_job_partition(now(), now())",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "SELECT * FROM pg_authid",
        ] {
            let error = await #expect(throws: PostgresError.self) {
                try await connection.execute(script: statement)
            }
            #expect(error?.sqlState == "42501", "\(statement): \(error.map { "\($0)" } ?? "")")
        }
        // Retention is asked for by its one function, which gives way to who writes and is asked again. A job that
        // was stored before the first range was made keeps that range from being made; the next one is.
        try await until {
            try await connection.query("SELECT maintain_job_partitions('7 days')")
            return try await !Self.text("SELECT name FROM job_partitions", on: connection).isEmpty
        }
        await connection.close()
    }

    // Proves: SEC-41.
    @Test
    func `in the role of the service, which owns nothing, a statement that names no tenant sees one tenant alone`()
        async throws
    {
        let place = try SharedService.current.place
        let socket = try #require(try Self.socketDirectory(place))
        let client = Client(
            .init(connectionString: "host='\(socket)' user=fetchd_service dbname=fetchd"), loop: TestDatabase.loop,
            logger: TestDatabase.logger)
        let tenants = try await client.query(
            """
            WITH made AS (
                INSERT INTO tenants (name) SELECT 'walled ' || n FROM generate_series(1, 2) AS n RETURNING id
            ), stored AS (
                INSERT INTO groups (tenant_id, id, spec, created_at) SELECT id, gen_random_uuid(), '{}', now() FROM made
            ), queued AS (
                INSERT INTO queue (tenant_id, job_id, rank, suspended) SELECT id, gen_random_uuid(), 1, true FROM made
            )
            SELECT id FROM made
            """
        ).map { try $0.decode(Tenant.ID.self, at: 0) }
        for tenant in tenants {
            let scoped = client.of(tenant)
            let owned: [(column: Query, table: Query)] = [
                ("tenant_id", "groups"), ("tenant_id", "queue"), ("id", "tenants"),
            ]
            for (column, table) in owned {
                let rows = try await scoped.query("SELECT \(column) FROM \(table)")
                #expect(try rows.map { try $0.decode(Tenant.ID.self, at: 0) } == [tenant])
            }
            #expect(try await scoped.query("UPDATE groups SET spec = spec").affected == 1)
            await #expect(throws: PostgresError.self) {
                try await scoped.transaction { connection in
                    try await connection.query("SELECT set_config('row_security', 'off', true)")
                    try await connection.query("SELECT FROM groups")
                }
            }
        }
        #expect(try await client.of(tenants[0]).query("DELETE FROM queue").affected == 1)
        #expect(try await client.of(tenants[1]).query("SELECT FROM queue").count == 1)
        // Whom row-level security does not hold: an owner, a superuser, and who is told to pass it.
        let free = try await client.query(
            """
            SELECT c.relname::text
            FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND pg_has_role('fetchd_service', c.relowner, 'MEMBER')
            """)
        #expect(free.isEmpty)
        try await client.query("DELETE FROM queue WHERE rank = 1 AND suspended")
        await client.close()
    }

    // Proves: SEC-80.
    @Test func `statements, locks and open transactions of the service have an end`() async throws {
        let connection = try await Self.connect(as: "fetchd_service", to: try SharedService.current.place)
        for name in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
            #expect(try await Self.text("SELECT current_setting(\(name))", on: connection) != ["0"], "\(name)")
        }
        await connection.close()
    }

    @Test func `a database of a pre-release is refused in one sentence, and left as it is`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let connection = try await place.database.connect()
            try await connection.execute(
                script: """
                    UPDATE schema_migrations SET name = '0001_jobs.sql' WHERE name = '0001_tenants.sql';
                    DELETE FROM schema_migrations WHERE name <> '0001_jobs.sql'
                    """)
            let end = try await ProgramEnd.of(["serve"], place.environment)
            #expect(end.status == 69)
            #expect(
                end.errors.contains("A pre-release made this database: its first migration is 0001_jobs.sql, not"),
                "\(end.errors)")
            #expect(
                try await Self.text("SELECT name FROM schema_migrations", on: connection) == ["0001_jobs.sql"])
            await connection.close()
        }
    }

    @Test func `neither the supervisor nor the database server knows a setting of the service`() async throws {
        let server = try Self.postmaster(try SharedService.current.place)
        let stat = try String(contentsOfFile: "/proc/\(server)/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        let supervisor = try #require(fields.dropFirst().first.flatMap { pid_t($0) })
        for process in [server, supervisor] {
            let bytes = try Data(contentsOf: URL(filePath: "/proc/\(process)/environ"))
            let names = Set(
                bytes.split(separator: 0).compactMap { variable in
                    String(decoding: variable, as: UTF8.self).split(separator: "=").first.map(String.init)
                })
            #expect(names.contains("PATH"))
            #expect(names.isDisjoint(with: ["S3_PREFIX", "DATA_DIRECTORY", "GUARD_ALLOW", "SERVER_PORT"]))
            #expect(names.subtracting(Self.harmless) == [])
        }
    }

    /// Besides its own, PostgreSQL keeps where it was found.
    private static let harmless: Set = [
        "PATH", "LC_ALL", "SWIFT_BACKTRACE", "LD_LIBRARY_PATH", "PGSYSCONFDIR", "PGLOCALEDIR", "PWD", "LC_COLLATE",
        "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "PGDATA",
    ]
}
