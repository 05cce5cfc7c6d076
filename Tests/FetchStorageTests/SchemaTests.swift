import FetchStorage
import Foundation
import TestSupport
import Testing

@Suite struct SchemaTests {
    /// `scripts/dump-schema` writes the file anew.
    @Test func `migrations/schema.sql is what the migrations make`() async throws {
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
}
