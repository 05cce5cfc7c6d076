import FetchEngine
import HTTPTypes
import Testing

@testable import FetchStorage

/// When a node uses the entries in memory, and when it asks the database.
@Suite struct CacheTierTests {
    private let url = "http://origin.example/a"

    private func request() throws -> Request { Request(url: try URLRecord(url)) }

    private func key() throws -> CacheKey { CacheKey(try request()) }

    private func entry(_ id: UInt64, _ policy: CachedResponse.StoragePolicy = .allowed) throws -> CacheEntry {
        let response = Response(url: try URLRecord(url), status: .ok, expectedContentLength: 1)
        return CacheEntry(
            key: try key(), id: CacheEntry.ID(rawValue: id), selection: .any, response: response,
            requestTime: UnixTime(seconds: 1), responseTime: UnixTime(seconds: 1), storagePolicy: policy, bodyLength: 1)
    }

    private func tier() -> CacheTier { CacheTier(room: CacheRoom(capacity: 1 << 20)) }

    private func ids(_ entries: [CacheEntry]) -> [UInt64] { entries.map(\.id.rawValue) }

    @Test func `as long as nothing was ever stored nothing is asked`() throws {
        var tier = tier()
        #expect(try tier.entries(for: key(), selectedBy: request()).1 == nil)
        tier.keep(try entry(1, .allowedInMemoryOnly), [1])
        #expect(try tier.entries(for: key(), selectedBy: request()).1 == nil)
        tier.expect(try key())
        #expect(try tier.entries(for: key(), selectedBy: request()).1 != nil)
    }

    @Test func `what is in memory is used until another node changes something, or it was looked up`() throws {
        var tier = tier()
        tier.require(1)
        let ticket = try #require(try tier.entries(for: key(), selectedBy: request()).1)
        let found = CacheTable.StoredEntry(entry: try entry(1), body: .bytes([1]))
        #expect(ids(tier.take([found], for: try key(), ticket)) == [1])
        var (near, next) = try tier.entries(for: key(), selectedBy: request())
        #expect(ids(near) == [1] && next == nil)
        // A write of this node's own changes nothing for it.
        tier.committed(2)
        #expect(try tier.entries(for: key(), selectedBy: request()).1 == nil)
        tier.require(3)
        (near, next) = try tier.entries(for: key(), selectedBy: request())
        let second = try #require(next)
        #expect(!second.isConfirmed)
        #expect(tier.take([], for: try key(), second).isEmpty)
        #expect(try tier.entries(for: key(), selectedBy: request()).0.isEmpty)
    }

    @Test func `what is for memory only outlives a look, and not a change elsewhere`() throws {
        var tier = tier()
        tier.require(1)
        tier.keep(try entry(1, .allowedInMemoryOnly), [1])
        tier.expect(try key())
        let ticket = try #require(try tier.entries(for: key(), selectedBy: request()).1)
        #expect(ids(tier.take([], for: try key(), ticket)) == [1])
        tier.require(2)
        let later = try #require(try tier.entries(for: key(), selectedBy: request()).1)
        #expect(tier.take([], for: try key(), later).isEmpty)
    }

    @Test func `a look that may have missed a write of this node changes nothing`() throws {
        var tier = tier()
        tier.require(1)
        let ticket = try #require(try tier.entries(for: key(), selectedBy: request()).1)
        tier.keep(try entry(2), [2])
        tier.committed(2)
        let old = CacheTable.StoredEntry(entry: try entry(1), body: .bytes([1]))
        #expect(ids(tier.take([old], for: try key(), ticket)) == [1])
        #expect(ids(try tier.entries(for: key(), selectedBy: request()).0) == [2])
    }

    @Test func `the caches of a node share its memory, and give it back`() throws {
        let room = CacheRoom(capacity: 16_000)
        var first = CacheTier(room: room)
        var second = CacheTier(room: room)
        first.keep(try entry(1), [1])
        #expect(room.free < 16_000)
        let taken = 16_000 - room.free
        room.take(room.free - taken / 2)
        second.keep(try entry(2), [2])
        #expect(second.body(of: try entry(2)) == nil)
        first.removeAll()
        second.keep(try entry(2), [2])
        #expect(second.body(of: try entry(2)) == [2])
    }
}
