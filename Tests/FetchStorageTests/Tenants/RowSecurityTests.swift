import FetchJobs
import FetchStorage
import Foundation
import Postgres
import TestSupport
import Testing

/// The second wall between tenants: the rows that the roles of the database see.
@Suite struct RowSecurityTests {
    private static let tenants = [Tenant.ID(rawValue: 1), Tenant.ID(rawValue: 2)]

    /// A database in which both tenants have a job.
    private func withJobs(_ body: (TestDatabase) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            let spec = try JobSpec(json: JSONParser.parse(#"{"request": {"url": "https://a.example/"}}"#.utf8))
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            for tenant in Self.tenants {
                _ = try await fixture.store().enqueue([NewJob(id: Job.ID(), tenant: tenant, spec: spec)])
            }
            try await body(fixture.database)
        }
    }

    /// Over Citus nobody may read jobs in the role of a tenant.
    private static let tables: [Query] = TestDatabase.hasCitus ? ["queue"] : ["jobs", "queue"]

    private func numbers(_ rows: Rows) throws -> [Int64] { try rows.map { try $0.decode(Int64.self, at: 0) } }

    // Proves: SEC-41.
    @Test func `a statement that names no tenant sees and changes the rows of its own alone`() async throws {
        try await withJobs { database in
            for tenant in Self.tenants {
                let scoped = database.client.of(tenant)
                for table in Self.tables {
                    let rows = try await scoped.query("SELECT tenant_id FROM \(table)")
                    #expect(try numbers(rows) == [tenant.rawValue])
                }
                #expect(try numbers(try await scoped.query("SELECT id FROM tenants")) == [tenant.rawValue])
                #expect(try await scoped.query("UPDATE queue SET rank = 7").affected == 1)
                try await scoped.transaction { connection in
                    for _ in 0..<2 {
                        let count = try await connection.query("UPDATE queue SET rank = 8").affected
                        #expect(count == 1)
                    }
                }
            }
            #expect(try await database.client.of(Self.tenants[0]).query("DELETE FROM queue").affected == 1)
            #expect(try numbers(try await database.client.query("SELECT tenant_id FROM queue")) == [2])
        }
    }

    // Proves: SEC-41.
    @Test func `no row is made for another tenant, nor given to it`() async throws {
        try await withJobs { database in
            let scoped = database.client.of(Self.tenants[0])
            for statement: Query in [
                "INSERT INTO groups (tenant_id, id, spec) VALUES (2, uuidv7(), '{}')",
                "UPDATE queue SET tenant_id = 2", "UPDATE tenants SET weight = 2", "DELETE FROM audit_entries",
                "SELECT FROM tenant_keys", "SELECT FROM service_keys", "SELECT FROM enqueue_grants",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await scoped.query(statement) }
                #expect(error?.sqlState == "42501", "\(statement)")
            }
        }
    }

    @Test func `the role of a tenant sees nothing while no tenant is named, and a connection forgets both`()
        async throws
    {
        try await withJobs { database in
            let table = Self.tables[0]
            let connection = try await database.connect()
            let before = try await connection.query("SELECT current_user::text").first?.decode(String.self, at: 0)
            for name in ["", "2"] {
                try await connection.transaction { connection in
                    try await connection.query(
                        "SELECT set_config('role', 'fetchd_tenant', true), set_config('fetchd.tenant', \(name), true)")
                    #expect(try await connection.query("SELECT FROM \(table)").count == (name == "" ? 0 : 1))
                }
            }
            try await connection.execute(script: "SET ROLE fetchd_tenant")
            #expect(try await connection.query("SELECT FROM \(table)").isEmpty)
            await connection.close()
            // One that a statement failed on, too.
            await #expect(throws: PostgresError.self) {
                try await database.client.of(Self.tenants[0]).query("SELECT 1 / (SELECT count(*) - 1 FROM \(table))")
            }
            let after = try await database.client.query(
                "SELECT current_user::text, (SELECT count(*) FROM \(table)), coalesce(current_setting('fetchd.tenant', true), '')"
            )
            #expect(try after.first?.decode(String.self, at: 0) == before)
            #expect(try after.first?.decode(Int64.self, at: 1) == 2)
            #expect(try after.first?.decode(String.self, at: 2) == "")
        }
    }

    /// A migration that makes a table calls `fetchd.guard_table`.
    @Test func `every table of tenants has row-level security for the role of a tenant`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let open = try await database.client.query(
                """
                SELECT c.relname::text
                FROM pg_class c
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
                LEFT JOIN pg_policies p ON p.tablename = c.relname AND p.roles = ARRAY['fetchd_tenant'::name]
                    AND p.qual LIKE '(tenant_id = ( SELECT %fetchd.tenant%' AND p.cmd = 'ALL'
                WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
                    AND NOT c.relispartition AND (p.policyname IS NULL OR NOT c.relrowsecurity)
                    AND has_table_privilege('fetchd_tenant', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
                """)
            #expect(try open.map { try $0.decode(String.self, at: 0) } == [])
        }
    }

    // Proves: SEC-80.
    @Test func `the reader counts rows, and reads neither keys nor what clients and origins wrote`() async throws {
        try await withJobs { database in
            let connection = try await database.connect()
            // Over Citus roles log in at the workers.
            if TestDatabase.hasCitus { try await connection.query("ALTER ROLE fetchd_reader LOGIN") }
            try await connection.execute(script: "SET ROLE fetchd_reader")
            #expect(try await connection.query("SELECT tenant_id, host, kind, created_at FROM jobs").count == 2)
            for statement: Query in [
                "SELECT spec FROM jobs", "SELECT sealed_secrets FROM jobs", "SELECT body FROM results",
                "SELECT secret_mac FROM api_keys", "SELECT sealed_value FROM cookies", "SELECT FROM tenant_keys",
                "SELECT FROM service_keys", "DELETE FROM jobs", "UPDATE queue SET rank = 1",
                "INSERT INTO tenants (name) VALUES ('x')", "CREATE TABLE t (n int)",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await connection.query(statement) }
                #expect(error?.sqlState == "42501", "\(statement)")
            }
            await connection.close()
        }
    }

    @Test func `an owner that may not give roles is told what to run, and migrates when that was done`() async throws {
        // Makes the roles, which belong to all databases of the server.
        try await TestDatabase.with(Schema.migrations) { _ in }
        try await TestDatabase.with { database in
            let owner = "owner_\(UUID().uuidString.lowercased())"
            let administrator = database.client
            try await administrator.query("CREATE ROLE \(.identifier(owner)) LOGIN")
            try await administrator.query(
                "ALTER DATABASE \(.identifier(database.name)) OWNER TO \(.identifier(owner))")
            let connection = try await Connection.open(
                Connection.Configuration(connectionString: database.connectionString + " user=\(owner)"),
                on: TestDatabase.loop)
            let error = await #expect(throws: MigrationError.self) {
                try await Migrations(Schema.migrations).apply(on: connection)
            }
            #expect(
                error?.message.contains("run, as a role that may, \"GRANT fetchd_tenant TO \(owner)\"") == true,
                "\(String(describing: error))")
            try await administrator.query("GRANT fetchd_tenant TO \(.identifier(owner))")
            try await Migrations(Schema.migrations).apply(on: connection)
            await connection.close()
        }
    }
}
