import FetchStorage
import Postgres
import TestSupport

extension TestDatabase {
    /// One whose clients have one connection each, so that its counts of read pages are reported before they are asked
    /// for.
    static func withCountedPages(_ body: (TestDatabase) async throws -> Void) async throws {
        try await with(Schema.migrations, configure: { $0.maximumConnections = 1 }) { try await body($0) }
    }

    /// How many pages of tables and indexes were looked at while `body` ran: a cost that no other work of the machine
    /// changes.
    func pages(_ body: () async throws -> Void) async throws -> Int64 {
        let before = try await pages()
        try await body()
        return try await pages() - before
    }

    private func pages() async throws -> Int64 {
        for client in [genericPlan, client] { try await client.query("SELECT pg_stat_force_next_flush()") }
        let rows = try await client.query(
            """
            SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint
            FROM pg_statio_user_tables
            """)
        return try rows.first?.decode(Int64.self, at: 0) ?? 0
    }
}
