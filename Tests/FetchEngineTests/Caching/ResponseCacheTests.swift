import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// The contract of every form of a cache.
@Suite struct ResponseCacheTests {
    enum Form: CaseIterable { case memory, disk }

    private static func make(_ form: Form, in directory: TemporaryDirectory) -> any ResponseCache {
        switch form {
        case .memory: MemoryResponseCache()
        case .disk: DiskResponseCache(location: directory.path)
        }
    }

    private static func cached(_ text: String, _ lines: String...) throws -> CachedResponse {
        CachedResponse(
            response: Response(url: try URLRecord("http://h.test/"), status: .ok, headerFields: .init(lines: lines)),
            data: Array(text.utf8))
    }

    // Proves: CCH-18, CCH-13, RSP-9.
    @Test(arguments: Form.allCases)
    func `what is stored comes back with response, data, user info and policy`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        let request = try Request.make(.get, "http://h.test/x?a=1")
        #expect(await cache.cachedResponse(for: request) == nil)
        var stored = try Self.cached("body", "X-A: 1", "X-A: 2", "ETag: \"é\"")
        stored.userInfo = ["key": "value"]
        await cache.store(stored, for: request)
        let found = try #require(await cache.cachedResponse(for: request))
        #expect(found.data == Array("body".utf8))
        #expect(found.response.status == .ok)
        #expect(found.response.headerFields == stored.response.headerFields)
        #expect(found.response.expectedContentLength == 4)
        #expect(found.userInfo == ["key": "value"])
        #expect(found.storagePolicy == .allowed)
    }

    // Proves: CCH-9, CCH-18, FN-35.
    @Test(arguments: Form.allCases)
    func `one is removed, the others stay`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        let urls = ["http://h.test/x?a=1", "http://h.test/x?a=2", "https://h.test/x?a=1", "http://h.test:8/x?a=1"]
        let requests = try urls.map { try Request.make(.get, $0) }
        for (index, request) in requests.enumerated() { await cache.store(try Self.cached("\(index)"), for: request) }
        await cache.removeCachedResponse(for: requests[0])
        #expect(await cache.cachedResponse(for: requests[0]) == nil)
        for index in 1...3 {
            #expect(await cache.cachedResponse(for: requests[index])?.data == Array("\(index)".utf8))
        }
        #expect(await cache.cachedResponse(for: try .make(.post, "http://h.test/x?a=2")) == nil)
        await cache.removeAllCachedResponses()
        for request in requests { #expect(await cache.cachedResponse(for: request) == nil) }
    }

    // Proves: BEY-24.
    @Test(arguments: Form.allCases)
    func `what came since a date is removed`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        for seconds in [0, 10, 20] {
            let request = try Request.make(.get, "http://h.test/\(seconds)")
            let entry = try CacheEntry.make(Self.cached("").response, to: request, at: sendingTime + seconds)
            await cache.store(try Self.cached("x"), as: entry)
        }
        await cache.removeCachedResponses(since: sendingTime + 10)
        #expect(await cache.cachedResponse(for: try .make(.get, "http://h.test/0")) != nil)
        #expect(await cache.cachedResponse(for: try .make(.get, "http://h.test/10")) == nil)
        #expect(await cache.cachedResponse(for: try .make(.get, "http://h.test/20")) == nil)
    }

    // Proves: CCH-8.
    @Test(arguments: Form.allCases)
    func `answers chosen by Vary are kept apart, until the resource varies otherwise`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        func request(_ language: String) throws -> Request {
            try .make(.get, "http://h.test/", "Accept-Language: \(language)")
        }
        for language in ["en", "de"] {
            await cache.store(try Self.cached(language, "Vary: Accept-Language"), for: try request(language))
        }
        await cache.store(try Self.cached("en again", "Vary: Accept-Language"), for: try request("en"))
        #expect(await cache.cachedResponse(for: try request("en"))?.data == Array("en again".utf8))
        #expect(await cache.cachedResponse(for: try request("de"))?.data == Array("de".utf8))
        #expect(await cache.cachedResponse(for: try request("fr")) == nil)
        await cache.store(try Self.cached("any"), for: try request("fr"))
        #expect(await cache.entries(for: CacheKey(try request("en")), selectedBy: try request("en")).count == 1)
        #expect(await cache.cachedResponse(for: try request("en"))?.data == Array("any".utf8))
    }

    // A hostile Vary does not fill the cache with one URL.
    // Proves: CCH-8.
    @Test(arguments: Form.allCases)
    func `no more than sixteen answers of one URL are kept`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        for index in 0..<40 {
            let request = try Request.make(.get, "http://h.test/", "X: \(index)")
            await cache.store(try Self.cached("\(index)", "Vary: X"), for: request)
        }
        let last = try Request.make(.get, "http://h.test/", "X: 39")
        #expect(await cache.cachedResponse(for: last)?.data == Array("39".utf8))
        let other = try Request.make(.get, "http://h.test/", "X: none")
        #expect(await cache.entries(for: CacheKey(other), selectedBy: other).count <= 16)
    }

    // Proves: CCH-7.
    @Test(arguments: Form.allCases, [10, 100_000])
    func `refreshing changes the fields and keeps the body`(_ form: Form, _ count: Int) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        let request = try Request.make(.get, "http://h.test/")
        var cached = try Self.cached("", "X: old")
        cached.data = pattern(count)
        await cache.store(cached, for: request)
        let old = try #require(await cache.entries(for: CacheKey(request), selectedBy: request).first)
        let new = old.refreshed(by: try .make(304, "X: new"), sentAt: sendingTime, receivedAt: sendingTime)
        await cache.refresh(new, replacing: old.id)
        let found = try #require(await cache.cachedResponse(for: request))
        #expect(found.response.headerFields[HTTPField.Name("X")!] == "new")
        #expect(found.data == pattern(count))
        #expect(await cache.body(of: old) == nil)
        await cache.remove(old)
        #expect(await cache.cachedResponse(for: request) != nil)
        await cache.remove(new)
        #expect(await cache.cachedResponse(for: request) == nil)
    }

    // Proves: CCH-21.
    @Test(arguments: Form.allCases, [10, 1_000_000])
    func `an entry is there only once it is committed`(_ form: Form, _ count: Int) async throws {
        let directory = try TemporaryDirectory()
        let cache: any ResponseCache =
            form == .memory
            ? MemoryResponseCache(capacity: 1 << 30) : DiskResponseCache(location: directory.path)
        let request = try Request.make(.get, "http://h.test/")
        let entry = try CacheEntry.make(.make(200), to: request)
        var writer = await cache.writer(for: entry)
        #expect(await writer?.append(pattern(count)) == true)
        #expect(await cache.cachedResponse(for: request) == nil)
        writer = nil
        #expect(await cache.cachedResponse(for: request) == nil)
        writer = await cache.writer(for: entry)
        for piece in stride(from: 0, to: count, by: 100_000) {
            #expect(await writer?.append(Array(pattern(count)[piece..<min(count, piece + 100_000)])) == true)
        }
        await writer?.commit(entry)
        #expect(await cache.cachedResponse(for: request)?.data == pattern(count))
    }

    // About five per cent of the capacity.
    // Proves: CCH-10.
    @Test(arguments: Form.allCases)
    func `a body over the limit is not stored`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache: any ResponseCache =
            form == .memory
            ? MemoryResponseCache(capacity: 100_000)
            : DiskResponseCache(memoryCapacity: 1000, diskCapacity: 100_000, location: directory.path)
        #expect(cache.maximumEntryBytes == 5000)
        let request = try Request.make(.get, "http://h.test/")
        var entry = try CacheEntry.make(.make(200), to: request)
        entry.bodyLength = 5001
        #expect(await cache.writer(for: entry) == nil)
        entry.bodyLength = 4
        let writer = try #require(await cache.writer(for: entry))
        #expect(await writer.append(pattern(5000)))
        #expect(await writer.append([1]) == false)
        await writer.commit(entry)
        #expect(await cache.cachedResponse(for: request) == nil)
        entry.bodyLength = 5000
        let exact = try #require(await cache.writer(for: entry))
        #expect(await exact.append(pattern(5000)))
        await exact.commit(entry)
        #expect(await cache.cachedResponse(for: request)?.data.count == 5000)
    }

    // Proves: CCH-12, CCH-17.
    @Test(arguments: Form.allCases)
    func `notAllowed stores nothing`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache = Self.make(form, in: directory)
        let request = try Request.make(.get, "http://h.test/")
        var cached = try Self.cached("x")
        cached.storagePolicy = .notAllowed
        await cache.store(cached, for: request)
        #expect(await cache.cachedResponse(for: request) == nil)
    }

    // Proves: CCH-21.
    @Test(arguments: Form.allCases)
    func `many readers and writers at once see whole bodies`(_ form: Form) async throws {
        let directory = try TemporaryDirectory()
        let cache: any ResponseCache =
            form == .memory
            ? MemoryResponseCache(capacity: 300_000, maximumEntryFraction: 1)
            : DiskResponseCache(
                memoryCapacity: 100_000, diskCapacity: 300_000, location: directory.path, maximumEntryFraction: 1)
        try await withThrowingTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<40 {
                        let number = (worker * 7 + round) % 10
                        let request = try Request.make(.get, "http://h.test/\(number)")
                        if let found = await cache.cachedResponse(for: request) {
                            let version = found.data.first ?? 0
                            #expect(found.data == [UInt8](repeating: version, count: 20_000 + number))
                        }
                        var cached = try Self.cached("")
                        cached.data = [UInt8](repeating: UInt8(round), count: 20_000 + number)
                        await cache.store(cached, for: request)
                        if round % 10 == 9 { await cache.removeCachedResponse(for: request) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
