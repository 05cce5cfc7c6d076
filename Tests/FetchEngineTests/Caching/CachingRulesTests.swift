import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// The rules of a session for storing, beside the protocol's.
@Suite struct CachingRulesTests {
    private func stored(
        _ origin: CachingOrigin, in cache: any ResponseCache,
        _ change: (inout CachingConfiguration) -> Void
    ) async throws -> Response {
        let session = Session.caching(in: cache) { change(&$0.caching) }
        return try await session.text(try origin.request()).1
    }

    // Proves: CCH-14, CCH-17, LIF-11.
    @Test func `the configured policy is where answers are kept`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        for policy in CachedResponse.StoragePolicy.allCases {
            let cache = MemoryResponseCache()
            let response = try await stored(origin, in: cache) { $0.storagePolicy = policy }
            #expect(response.cacheStatus.isStored == (policy != .notAllowed))
            let found = await cache.cachedResponse(for: try origin.request())
            #expect(found?.storagePolicy == (policy == .notAllowed ? nil : policy))
        }
    }

    // Proves: CCH-17.
    @Test func `what is stored already is used though nothing more is stored`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        _ = try await stored(origin, in: cache) { _ in }
        #expect(try await stored(origin, in: cache) { $0.storagePolicy = .notAllowed }.source == .cache)
    }

    // Proves: CCH-10.
    @Test(arguments: [3, 4]) func `the configured size limits bodies, announced or not`(limit: Int64) async throws {
        let answer = ["Cache-Control: max-age=60", "Transfer-Encoding: chunked"]
        let chunked = try CachingOrigin { _, _ in
            (["HTTP/1.1 200 X"] + answer + ["", "4\r\nbody\r\n0\r\n\r\n"]).joined(separator: "\r\n")
        }
        for origin in [try CachingOrigin("Cache-Control: max-age=60"), chunked] {
            let cache = MemoryResponseCache()
            _ = try await stored(origin, in: cache) { $0.maximumEntryBytes = limit }
            #expect(await cache.cachedResponse(for: try origin.request())?.data.count == (limit < 4 ? nil : 4))
        }
    }

    // Proves: CCH-13.
    @Test func `the configured user info is attached, and shown to the delegate`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        _ = try await stored(origin, in: cache) { $0.userInfo = ["a": "b"] }
        #expect(await cache.cachedResponse(for: try origin.request())?.userInfo == ["a": "b"])
    }

    // Proves: CCH-3, CCH-10.
    @Test(arguments: [
        ("Cache-Control: max-age=60", true), ("ETag: \"a\"", true), ("Last-Modified: \(Dates.aYearAgo)", true),
        ("X: 1", false), ("Cache-Control: max-age=0", false),
    ])
    func `what the protocol lets nobody use is stored for who takes anything alone`(
        field: String, isStored: Bool
    ) async throws {
        let origin = try CachingOrigin(field)
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache) { $0.caching.storesUnconfirmableAnswers = false }
        let (_, response) = try await session.text(try origin.request())
        #expect(response.cacheStatus.isStored == isStored)
        #expect((await cache.cachedResponse(for: try origin.request()) != nil) == isStored)
        var request = try origin.request("/other")
        request.cachePolicy = .returnCacheDataElseLoad
        _ = try await session.text(request)
        #expect(try await session.text(request).1.source == .cache)
    }

    /// Two processes, as far as the engine can tell: the one that has the turn holds the others up.
    private final class Turns: SharedResponseCache {
        final class Turn: CacheTurn {}

        let base = MemoryResponseCache()
        let asked = Mutex(0)
        /// The response that another process stores while this one waits.
        let meanwhile: CachedResponse?
        let held = Mutex<[Weak]>([])

        struct Weak {
            weak var turn: Turn?
        }

        init(meanwhile: CachedResponse? = nil) { self.meanwhile = meanwhile }

        var isShared: Bool { true }

        func turn(for key: CacheKey, within limit: Duration) async -> (any CacheTurn)? {
            asked.withLock { $0 += 1 }
            if let meanwhile { await base.store(meanwhile, for: Request(url: meanwhile.response.url)) }
            let turn = Turn()
            held.withLock { $0.append(Weak(turn: turn)) }
            return turn
        }

        var isHeld: Bool { held.withLock { $0.contains { $0.turn != nil } } }

        nonisolated(nonsending) func entries(for key: CacheKey, selectedBy request: Request) async -> [CacheEntry] {
            await base.entries(for: key, selectedBy: request)
        }
        nonisolated(nonsending) func body(of entry: CacheEntry) async -> CachedBody? { await base.body(of: entry) }
        nonisolated(nonsending) func writer(for entry: CacheEntry) async -> (any CacheWriter)? {
            await base.writer(for: entry)
        }
        nonisolated(nonsending) func refresh(_ entry: CacheEntry, replacing id: CacheEntry.ID) async {
            await base.refresh(entry, replacing: id)
        }
        nonisolated(nonsending) func remove(_ entry: CacheEntry) async { await base.remove(entry) }
        nonisolated(nonsending) func removeEntries(for key: CacheKey) async { await base.removeEntries(for: key) }
        nonisolated(nonsending) func removeEntries(since time: UnixTime) async { await base.removeEntries(since: time) }
        nonisolated(nonsending) func removeAllEntries() async { await base.removeAllEntries() }
        var maximumEntryBytes: Int64 { base.maximumEntryBytes }
    }

    // Proves: CCH-21.
    @Test func `what misses waits for its turn among processes, and gives it back when it has stored`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = Turns()
        let session = Session.caching(in: cache)
        for source in [Response.Source.network, .cache] {
            #expect(try await session.text(try origin.request()).1.source == source)
        }
        #expect(cache.asked.withLock { $0 } == 1)
        try await until { !cache.isHeld }
    }

    @Test func `an origin whose answers cannot be stored is asked without a turn, until one can`() async throws {
        let answers = ["private": "no-store", "public": "max-age=60"].mapValues {
            CachingOrigin.answer(200, ["Cache-Control: \($0)"], body: "body")
        }
        let origin = try CachingOrigin { _, head in answers[head.contains("/public") ? "public" : "private"] }
        let other = try CachingOrigin("Cache-Control: no-store")
        let cache = Turns()
        let session = Session.caching(in: cache)
        func asked(_ paths: some Sequence<String>, _ origin: CachingOrigin) async throws -> Int {
            let before = cache.asked.withLock { $0 }
            for path in paths { _ = try await session.text(try origin.request(path)) }
            return cache.asked.withLock { $0 } - before
        }
        let limit = CacheFlights.refusalLimit
        let isAsked = try await asked((0..<limit + 8).map { "/private/\($0)" }, origin)
        #expect(isAsked == limit)
        #expect(try await asked(["/public/1"], origin) == 0)
        #expect(try await asked(["/public/2", "/private/again"], origin) == 2)
        #expect(try await asked(["/"], other) == 1)
        #expect(origin.count == limit + 11)
    }

    // Proves: CCH-21.
    @Test func `what another process has stored meanwhile is taken`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let fields: HTTPFields = [.cacheControl: "max-age=60"]
        let request = try origin.request()
        let response = Response(url: request.url, status: .ok, headerFields: fields, expectedContentLength: 5)
        let cache = Turns(meanwhile: CachedResponse(response: response, data: Array("other".utf8)))
        let (text, served) = try await Session.caching(in: cache).text(request)
        #expect(text == "other" && origin.count == 0)
        #expect(served.cacheStatus.isCollapsed)
        try await until { !cache.isHeld }
    }
}
