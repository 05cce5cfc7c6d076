import FetchJobs
import FetchStorage
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct SchemaTests {
    /// `scripts/dump-schema` writes the file anew.
    @Test(.disabled(if: TestDatabase.hasCitus, "A dump has the extension, too."))
    func `migrations/schema.sql is what the migrations make`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let root = FileManager.default.currentDirectoryPath
            let connection = database.connectionString
            let (text, status) = try await onThread {
                let dump = try Program([root + "/scripts/dump-schema", connection], readsOutput: true)
                return (dump.output(), dump.waitForEnd())
            }
            try #require(status == 0)
            let kept = root + "/migrations/schema.sql"
            #expect(text == (try String(contentsOfFile: kept, encoding: .utf8)))
        }
    }

    // All but the one that comes whatever an endpoint lists.
    @Test func `the database knows the events that the API knows`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let rows = try await database.client.query("SELECT webhook_events()")
            let names = WebhookEvent.allCases.filter { $0 != .endpointTest }.map(\.rawValue)
            #expect(try rows.map { try $0.decode([String].self, at: 0) } == [names])
        }
    }

    @Test func `every table says what it is, and every column that may be null, is a flag or a state what that means`()
        async throws
    {
        try await TestDatabase.with(Schema.migrations) { database in
            let silent = try await database.client.query(
                """
                SELECT t.relname || coalesce('.' || a.attname, '')
                FROM pg_class t
                LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND (NOT a.attnotnull OR a.atttypid = 'bool'::regtype OR a.attname IN ('state', 'kind'))
                WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p')
                    AND NOT t.relispartition AND t.relname <> 'schema_migrations'
                    AND (obj_description(t.oid) IS NULL OR a.attnum IS NOT NULL)
                    AND col_description(t.oid, coalesce(a.attnum, 0)) IS NULL
                """)
            #expect(try silent.map { try $0.decode(String.self, at: 0) } == [])
        }
    }
}
