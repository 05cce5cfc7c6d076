import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Answers cached for two nodes over one database.
@Suite struct SharedCacheTests {
    private let url = "http://origin.example/a?b=c"

    private func request(_ url: String? = nil) throws -> Request { Request(url: try URLRecord(url ?? self.url)) }

    private func answer(
        _ data: [UInt8] = Array("hello".utf8),
        _ fields: HTTPFields = [:],
        url: String? = nil,
        policy: CachedResponse.StoragePolicy = .allowed
    ) throws -> CachedResponse {
        var all: HTTPFields = [.cacheControl: "max-age=1000", .contentType: "text/plain"]
        all.append(contentsOf: fields)
        let response = Response(
            url: try URLRecord(url ?? self.url), status: .ok, headerFields: all, httpVersion: "http/1.1",
            expectedContentLength: Int64(data.count))
        return CachedResponse(response: response, data: data, userInfo: ["k": "v"], storagePolicy: policy)
    }

    private func cache(
        _ fixture: SessionStoresFixture, _ node: Int, of session: SessionAddress? = nil
    ) -> any ResponseCache { fixture.nodes[node].cache(of: session ?? fixture.session) }

    /// The bytes that a job that is submitted now finds on a node.
    private func data(
        _ fixture: SessionStoresFixture, _ node: Int, _ cache: any ResponseCache, _ url: String? = nil
    ) async throws -> [UInt8]? {
        fixture.nodes[node].require(try await fixture.version(), of: fixture.session)
        return await cache.cachedResponse(for: try request(url))?.data
    }

    @Test func `what one node stores another gives, user info and all`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            #expect(try await data(fixture, 1, there) == nil)
            let stored = try answer()
            await here.store(stored, for: try request())
            #expect(try await data(fixture, 1, there) == stored.data)
            let found = try #require(await there.cachedResponse(for: try request()))
            #expect(found.userInfo == ["k": "v"])
            #expect(found.response.headerFields == stored.response.headerFields)
            #expect(await there.cachedResponse(for: try request(url + "d")) == nil)
        }
    }

    @Test func `a body too large for a row lies in the blob store, and goes with its entry`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let body = [UInt8](repeating: 7, count: 200_000)
            await here.store(try answer(body), for: try request())
            #expect(fixture.blobs.count == 1)
            #expect(try await data(fixture, 1, there) == body)
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            try await fixture.blobs.forEach { #expect((try? await catalog.orphans(among: $0)) == []) }
            await here.store(try answer(), for: try request())
            try await until { fixture.blobs.count == 0 }
            #expect(try await data(fixture, 1, there) == Array("hello".utf8))
            #expect(try await data(fixture, 0, here) == Array("hello".utf8))
        }
    }

    /// All, and those that each member chooses.
    private static let filters: [CacheFilter] = {
        var filters = Array(repeating: CacheFilter(), count: 5)
        filters[1].host = "origin.example"
        filters[2].prefix = "http://origin.example/a"
        filters[3].tag = "red"
        filters[4].url = CacheFilter.canonicalURL("http://u:p@ORIGIN.example:80/a?b=c#d")
        return filters
    }()

    @Test(arguments: filters.indices)
    func `what one node purges is gone from the memory of another`(_ index: Int) async throws {
        let chosen = Self.filters[index]
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let tags = try #require(HTTPField.Name("Cache-Tag"))
            await here.store(try answer([1], [tags: "red, blue"]), for: try request())
            let other = "http://elsewhere.example/"
            await here.store(try answer([2], url: other), for: try request(other))
            for url in [nil, other] { _ = try await data(fixture, 1, there, url) }
            #expect(
                try await fixture.nodes[0].answers(chosen, of: fixture.session.tenant, after: nil, limit: 9).count > 0)
            let count = try await fixture.nodes[0].purge(chosen, of: fixture.session.tenant)
            #expect(count == (index == 0 ? 2 : 1))
            for (node, cache) in [here, there].enumerated() {
                #expect(try await data(fixture, node, cache) == nil)
                if count == 1 { #expect(try await data(fixture, node, cache, other) == [2]) }
            }
        }
    }

    @Test func `a purge takes what is in memory only, and that of its session alone`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let tenant = fixture.session.tenant
            await here.store(try answer([3]), for: try request(url + "3"))
            #expect(try await data(fixture, 1, there, url + "3") == [3])
            await there.store(try answer(policy: .allowedInMemoryOnly), for: try request())
            #expect(try await data(fixture, 1, there) == Array("hello".utf8))
            let elsewhere = CacheFilter(session: TenantSession.ID())
            #expect(try await fixture.nodes[0].purge(elsewhere, of: tenant) == 0)
            #expect(try await data(fixture, 1, there) == Array("hello".utf8))
            #expect(try await fixture.nodes[0].purge(CacheFilter(), of: tenant) == 1)
            #expect(try await data(fixture, 1, there) == nil)
        }
    }

    @Test func `one answer is found by its id, with its body, and purged alone`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let here = cache(fixture, 0)
            let (node, tenant) = (fixture.nodes[1], fixture.session.tenant)
            await here.store(try answer(), for: try request())
            await here.store(try answer([UInt8](repeating: 7, count: 200_000)), for: try request(url + "2"))
            for answer in try await node.answers(CacheFilter(), of: tenant, after: nil, limit: 9) {
                var filter = CacheFilter(session: answer.session)
                filter.answer = answer.id
                let found = try await node.answers(filter, of: tenant, after: nil, limit: 9)
                #expect(found.map(\.entry.key.url) == [answer.entry.key.url])
                switch try await node.body(of: answer, tenant: tenant) {
                case .inline(let bytes): #expect(bytes == Array("hello".utf8))
                case .blob: #expect(answer.entry.bodyLength == 200_000)
                case nil: Issue.record("no body")
                }
                #expect(try await node.answers(filter, of: Tenant.ID(rawValue: 99), after: nil, limit: 9).isEmpty)
                #expect(try await node.body(of: answer, tenant: Tenant.ID(rawValue: 99)) == nil)
                #expect(try await node.purge(filter, of: tenant) == 1)
                #expect(try await node.body(of: answer, tenant: tenant) == nil)
            }
            #expect(try await data(fixture, 0, here) == nil)
            try await until { fixture.blobs.count == 0 }
        }
    }

    @Test(arguments: [5, 200_000])
    func `an answer that was on its way during a purge is not stored`(size: Int) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let body = [UInt8](repeating: 7, count: size)
            await here.store(try answer(), for: try request(url + "other"))
            let began = UnixTime.now
            let entry = try #require(
                CacheEntry(
                    key: CacheKey(try request()), id: CacheEntry.ID(rawValue: 7), selection: .any,
                    response: try answer(body).response, requestTime: began, responseTime: began,
                    bodyLength: Int64(size)) as CacheEntry?)
            let writer = try #require(await here.writer(for: entry))
            #expect(await writer.append(body))
            #expect(try await fixture.nodes[1].purge(CacheFilter(), of: fixture.session.tenant) == 1)
            await writer.commit(entry)
            #expect(try await data(fixture, 0, here) == nil)
            #expect(try await data(fixture, 1, there) == nil)
            try await until { fixture.blobs.count == 0 }
            // Responses that are asked for from now on are stored.
            await here.store(try answer(), for: try request())
            #expect(try await data(fixture, 1, there) == Array("hello".utf8))
        }
    }

    @Test func `what is for memory only never reaches the database`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let here = cache(fixture, 0)
            await here.store(try answer(policy: .allowedInMemoryOnly), for: try request())
            #expect(try await data(fixture, 0, here) == Array("hello".utf8))
            let rows = try await fixture.database.client.query("SELECT FROM cache_entries")
            #expect(rows.isEmpty)
        }
    }

    // Proves: SEC-42.
    @Test func `tenants, sessions and selections are kept apart`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let session = fixture.session
            var german = try request()
            german.headerFields[.acceptLanguage] = "de"
            await here.store(try answer([1], [.vary: "Accept-Language"]), for: try request())
            await here.store(try answer([2], [.vary: "Accept-Language"]), for: german)
            #expect(try await data(fixture, 1, there) == [1])
            #expect(await there.cachedResponse(for: german)?.data == [2])
            let foreign = [
                SessionAddress(tenant: Tenant.ID(rawValue: 2)),
                SessionAddress(tenant: session.tenant, session: TenantSession.ID()),
            ]
            for address in foreign {
                let other = cache(fixture, 1, of: address)
                fixture.nodes[1].require(StoresVersion(cache: 1), of: address)
                #expect(await other.cachedResponse(for: try request()) == nil)
            }
        }
    }

    @Test func `what is confirmed on one node is fresh on another`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            await here.store(try answer(), for: try request())
            #expect(try await data(fixture, 1, there) != nil)
            let old = try #require(await here.entries(for: CacheKey(try request()), selectedBy: try request()).first)
            let new = CacheEntry(
                key: old.key, id: CacheEntry.ID(rawValue: 7), selection: old.selection, response: old.response,
                requestTime: old.requestTime, responseTime: old.responseTime.advanced(by: .seconds(9)),
                bodyLength: old.bodyLength)
            await here.refresh(new, replacing: old.id)
            for (node, cache) in [here, there].enumerated() {
                #expect(try await data(fixture, node, cache) == Array("hello".utf8))
                let found = await cache.entries(for: CacheKey(try request()), selectedBy: try request())
                #expect(found.map(\.id) == [new.id])
            }
        }
    }

    @Test func `what was used longest ago goes when there is too much`() async throws {
        var configuration = CacheEvictor.Configuration()
        configuration.capacity = 200_000
        configuration.memoryCapacity = 0
        try await SessionStoresFixture.with(cache: configuration) { fixture async throws in
            let here = cache(fixture, 0)
            for number in 0..<100 {
                let url = "http://origin.example/\(number)"
                await here.store(try answer([UInt8](repeating: 1, count: 5000), url: url), for: try request(url))
            }
            try await until {
                let row = try await fixture.database.client.query(
                    "SELECT sum(cost)::bigint, count(*) FROM cache_entries"
                ).first
                let (cost, count) = (try row?.decode(Int64.self, at: 0) ?? 0, try row?.decode(Int64.self, at: 1) ?? 0)
                return cost <= configuration.capacity && count > 20
            }
            #expect(try await data(fixture, 0, here, "http://origin.example/99") != nil)
            #expect(try await data(fixture, 0, here, "http://origin.example/0") == nil)
            let left = try await fixture.database.client.query("SELECT count(*) FROM cache_entries").first
            let gone = 100 - (try left?.decode(Int64.self, at: 0) ?? 0)
            let metrics = MetricsRegistry()
            fixture.nodes[0].cacheEvictor.report(to: metrics)
            try await until { metrics.text.contains(#"fetchd_cache_evictions_total{store="database"} \#(gone)\#n"#) }
        }
    }

    // Memory is shared by the caches of a node, and entries that do not fit are read from the database.
    @Test func `a small memory loses nothing`() async throws {
        var configuration = CacheEvictor.Configuration()
        configuration.memoryCapacity = 100_000
        try await SessionStoresFixture.with(cache: configuration) { fixture async throws in
            let here = cache(fixture, 0)
            let urls = (0..<20).map { "http://origin.example/\($0)" }
            for (number, url) in urls.enumerated() {
                let body = [UInt8](repeating: UInt8(number), count: 5000)
                await here.store(try answer(body, url: url), for: try request(url))
            }
            for (number, url) in urls.enumerated() {
                #expect(try await data(fixture, 0, here, url)?.first == UInt8(number))
            }
            let metrics = MetricsRegistry()
            fixture.nodes[0].cacheEvictor.report(to: metrics)
            #expect(metrics.text.contains("fetchd_cache_evictions_total{store=\"memory\"}"))
            #expect(!metrics.text.contains("fetchd_cache_evictions_total{store=\"memory\"} 0"))
        }
    }

    // A plan is kept from when there was next to nothing.
    @Test func `to look, and to remove what is not there, reads as much beside thousands of entries as beside one`()
        async throws
    {
        try await SessionStoresFixture.with(configure: { $0.maximumConnections = 1 }) { fixture async throws in
            let (here, there) = (cache(fixture, 0), cache(fixture, 1))
            let database = fixture.database
            await here.store(try answer(), for: try request())
            func pages() async throws -> Int64 {
                var counts: [Int64] = []
                for number in 0..<9 {
                    counts.append(
                        try await database.pages {
                            let found = try await data(fixture, 1, there, url + "\(number)")
                            #expect(found == nil)
                            await there.removeEntries(for: CacheKey(try request(url + "\(number)")))
                        })
                }
                return counts.sorted()[4]
            }
            try await database.client.query("SET plan_cache_mode = force_generic_plan")
            let few = try await pages()
            try await database.client.query(
                """
                INSERT INTO cache_entries (
                    tenant_id, session_id, key, selection, id, varied_names, url, host, tags, entry, body, cost,
                    responded_at
                )
                SELECT tenant_id, session_id, sha256(number::text::bytea), selection, number, varied_names, url, host,
                    tags, entry, body, cost, responded_at
                FROM cache_entries, generate_series(1, 3000) AS number
                """)
            #expect(try await pages() < few + 20)
        }
    }

    @Test func `the turn to fetch goes from node to node, and from one that is gone`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let caches = try [cache(fixture, 0), cache(fixture, 1)].map { try #require($0 as? any SharedResponseCache) }
            let key = CacheKey(try request())
            let client = fixture.database.client
            for id in fixture.ids {
                try await client.query(
                    """
                    INSERT INTO nodes (id, lease_until, volume, roles)
                    VALUES (\(id), now() + interval '1 hour', 1, '{worker}')
                    """)
            }
            var turn = await caches[0].turn(for: key, within: .seconds(60))
            #expect(turn != nil)
            #expect(await caches[1].turn(for: key, within: .milliseconds(50)) == nil)
            let waiting = Task { await caches[1].turn(for: key, within: .seconds(60)) }
            turn = nil
            let second = await waiting.value
            #expect(second != nil)
            try await client.query("UPDATE nodes SET lease_until = now() WHERE id = \(fixture.ids[1])")
            turn = await caches[0].turn(for: key, within: .seconds(60))
            #expect(turn != nil)
        }
    }

    // What is returned is ended by the statement that takes the next turn, or soon after the last one.
    @Test func `a turn that is returned and taken again at once is held, and all end`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let caches = try [cache(fixture, 0), cache(fixture, 1)].map { try #require($0 as? any SharedResponseCache) }
            let client = fixture.database.client
            try await client.query(
                """
                INSERT INTO nodes (id, lease_until, volume, roles)
                VALUES (\(fixture.ids[0]), now() + interval '1 hour', 1, '{worker}')
                """)
            let key = CacheKey(try request())
            for number in 0..<10 {
                var turns = [await caches[0].turn(for: key, within: .seconds(60))]
                turns.append(
                    await caches[0].turn(for: CacheKey(try request(url + "\(number)")), within: .seconds(60)))
                #expect(turns.allSatisfy { $0 != nil })
                #expect(await caches[1].turn(for: key, within: .milliseconds(30)) == nil)
                turns = []
            }
            #expect(await caches[1].turn(for: key, within: .seconds(60)) != nil)
            try await until { try await client.query("SELECT FROM cache_turns").isEmpty }
        }
    }
}
