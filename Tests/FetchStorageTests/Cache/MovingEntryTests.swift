import FetchEngine
import FetchJobs
import HTTPTypes
import Postgres
import TestSupport
import Testing

@testable import FetchStorage

/// Statements about cached responses that another connection stores or replaces while they wait for them.
@Suite struct MovingEntryTests {
    private static let url = "http://origin.example/a"

    /// Stores an answer.
    private static func store(_ fixture: SessionStoresFixture) async throws {
        let url = try URLRecord(url)
        let response = Response(
            url: url, status: .ok, headerFields: [.cacheControl: "max-age=1000"], httpVersion: "http/1.1",
            expectedContentLength: 1)
        await fixture.nodes[0].cache(of: fixture.session)
            .store(CachedResponse(response: response, data: [1]), for: Request(url: url))
        #expect(try await count(fixture) == 1)
    }

    private static func count(_ fixture: SessionStoresFixture) async throws -> Int64 {
        try await fixture.database.client.query("SELECT count(*) FROM cache_entries").first?.decode(at: 0) ?? -1
    }

    /// The statements of a node that stores another response: first it has the session's row.
    private static let storing: [Query] = [
        "SELECT FROM session_stores FOR NO KEY UPDATE",
        """
        INSERT INTO cache_entries (
            tenant_id, session_id, key, selection, id, varied_names, url, host, tags, entry, body, cost, responded_at
        )
        SELECT tenant_id, session_id, key, 'other', id + 1, varied_names, url, host, tags, entry, body, cost,
            responded_at
        FROM cache_entries
        """,
    ]

    @Test func `a purge takes what was stored while it waited`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await Self.store(fixture)
            let count = try await fixture.database.during(Self.storing) {
                try await fixture.nodes[1].purge(CacheFilter(), of: fixture.session.tenant)
            }
            #expect(count == 2)
            #expect(try await Self.count(fixture) == 0)
        }
    }

    enum Removal: CaseIterable { case key, since, all }

    @Test(arguments: Removal.allCases)
    func `what a request has made outdated goes, also when it was stored meanwhile`(_ removal: Removal) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await Self.store(fixture)
            let cache = fixture.nodes[0].cache(of: fixture.session)
            fixture.nodes[0].require(try await fixture.version(), of: fixture.session)
            let key = CacheKey(Request(url: try URLRecord(Self.url)))
            try await fixture.database.during(Self.storing) {
                switch removal {
                case .key: await cache.removeEntries(for: key)
                case .since: await cache.removeEntries(since: UnixTime(microseconds: 0))
                case .all: await cache.removeAllEntries()
                }
            }
            #expect(try await Self.count(fixture) == 0)
        }
    }

    @Test func `what has been replaced meanwhile is not evicted for the one before it`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await Self.store(fixture)
            let table = CacheTable(client: fixture.database.client)
            _ = try await fixture.database.during(["UPDATE cache_entries SET id = id + 1"]) {
                try await table.evict(fixture.session.tenant, capacity: 0)
            }
            #expect(try await Self.count(fixture) == 1)
            _ = try await table.evict(fixture.session.tenant, capacity: 0)
            #expect(try await Self.count(fixture) == 0)
        }
    }

    @Test func `a version that was replaced meanwhile is neither refreshed nor removed`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await Self.store(fixture)
            let cache = fixture.nodes[0].cache(of: fixture.session)
            fixture.nodes[0].require(try await fixture.version(), of: fixture.session)
            let request = Request(url: try URLRecord(Self.url))
            let entry = try #require(await cache.entries(for: CacheKey(request), selectedBy: request).first)
            try await fixture.database.during(["UPDATE cache_entries SET id = id + 1"]) { await cache.remove(entry) }
            #expect(try await Self.count(fixture) == 1)
        }
    }
}
