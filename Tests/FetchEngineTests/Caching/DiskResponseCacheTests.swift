import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct DiskResponseCacheTests {
    private static func request(_ number: Int) throws -> Request { try .make(.get, "http://h.test/\(number)") }

    private static func cached(_ count: Int, _ userInfo: [String: String] = [:]) throws -> CachedResponse {
        CachedResponse(
            response: Response(url: try URLRecord("http://h.test/"), status: .ok), data: pattern(count),
            userInfo: userInfo)
    }

    // Proves: CCH-13, CCH-16, SES-2, SES-24.
    @Test func `entries outlive the process, in the directory they were told`() async throws {
        let directory = try TemporaryDirectory()
        let location = directory.file("some/where")
        let first = DiskResponseCache(location: location)
        for (number, count) in [10, 100_000, 1_000_000].enumerated() {
            await first.store(try Self.cached(count, ["n": "\(number)"]), for: try Self.request(number))
        }
        await first.flush()
        let second = DiskResponseCache(location: location)
        for (number, count) in [10, 100_000, 1_000_000].enumerated() {
            let found = try #require(await second.cachedResponse(for: try Self.request(number)))
            #expect(found.data == pattern(count))
            #expect(found.userInfo == ["n": "\(number)"])
        }
        #expect(second.currentDiskUsage > 1_100_010)
        await second.removeAllCachedResponses()
        #expect(second.currentDiskUsage == 0)
        let third = DiskResponseCache(location: location)
        #expect(await third.cachedResponse(for: try Self.request(0)) == nil)
    }

    // The sample's capacities were 16 KiB and 256 MiB.
    // Proves: CCH-16, SES-24.
    @Test func `usage stays below both capacities and what was used last stays`() async throws {
        let directory = try TemporaryDirectory()
        let cache = DiskResponseCache(
            memoryCapacity: 100_000, diskCapacity: 400_000, location: directory.path, maximumEntryFraction: 0.2)
        for number in 0..<100 {
            await cache.store(try Self.cached(10_000), for: try Self.request(number))
            _ = await cache.cachedResponse(for: try Self.request(0))
            await cache.flush()
            #expect(cache.currentMemoryUsage <= 100_000)
            #expect(cache.currentDiskUsage <= 400_000)
        }
        #expect(cache.currentDiskUsage > 350_000)
        #expect(await cache.cachedResponse(for: try Self.request(99)) != nil)
        #expect(await cache.cachedResponse(for: try Self.request(50)) == nil)
        await cache.setDiskCapacity(50_000)
        #expect(cache.currentDiskUsage <= 50_000)
        cache.memoryCapacity = 20_000
        #expect(cache.currentMemoryUsage <= 20_000)
    }

    // Proves: SES-24.
    @Test func `a cache with the sample's capacities keeps large entries on disk only`() async throws {
        let directory = try TemporaryDirectory()
        let cache = DiskResponseCache(
            memoryCapacity: 16_384, diskCapacity: 268_435_456, location: directory.path)
        for (number, count) in [100, 50_000, 5_000_000].enumerated() {
            await cache.store(try Self.cached(count), for: try Self.request(number))
        }
        await cache.flush()
        #expect(cache.currentMemoryUsage <= 16_384)
        #expect(cache.currentDiskUsage > 5_050_100)
        for (number, count) in [100, 50_000, 5_000_000].enumerated() {
            #expect(await cache.cachedResponse(for: try Self.request(number))?.data == pattern(count))
        }
    }

    // The order of use is known after a restart.
    // Proves: CCH-16.
    @Test func `a restart keeps the order of use`() async throws {
        let directory = try TemporaryDirectory()
        let first = DiskResponseCache(memoryCapacity: 0, location: directory.path)
        for number in 0..<10 { await first.store(try Self.cached(10_000), for: try Self.request(number)) }
        for number in 0..<10 where number != 5 { _ = await first.cachedResponse(for: try Self.request(number)) }
        await first.flush()
        let second = DiskResponseCache(
            memoryCapacity: 0, diskCapacity: 100_000, location: directory.path, maximumEntryFraction: 1)
        #expect(await second.cachedResponse(for: try Self.request(5)) == nil)
        #expect(await second.cachedResponse(for: try Self.request(9)) != nil)
    }

    // Proves: CCH-17.
    @Test func `what is for memory only never reaches the disk`() async throws {
        let directory = try TemporaryDirectory()
        let cache = DiskResponseCache(location: directory.path)
        var secret = try Self.cached(0)
        secret.data = Array("a-marker-nobody-else-has".utf8)
        secret.storagePolicy = .allowedInMemoryOnly
        await cache.store(secret, for: try Self.request(0))
        #expect(await cache.cachedResponse(for: try Self.request(0))?.storagePolicy == .allowedInMemoryOnly)
        await cache.flush()
        #expect(cache.currentDiskUsage == 0)
        let other = DiskResponseCache(location: directory.path)
        #expect(await other.cachedResponse(for: try Self.request(0)) == nil)
    }

    // An older version on disk must not outlive it.
    // Proves: CCH-17.
    @Test func `what is for memory only takes the place of what was on the disk`() async throws {
        let directory = try TemporaryDirectory()
        let cache = DiskResponseCache(location: directory.path)
        await cache.store(try Self.cached(10), for: try Self.request(0))
        var secret = try Self.cached(20)
        secret.storagePolicy = .allowedInMemoryOnly
        await cache.store(secret, for: try Self.request(0))
        await cache.flush()
        let other = DiskResponseCache(location: directory.path)
        #expect(await other.cachedResponse(for: try Self.request(0)) == nil)
        #expect(await cache.cachedResponse(for: try Self.request(0))?.data.count == 20)
    }

    // Files that are none of ours, directories that cannot be written.
    // Proves: CCH-21.
    @Test func `a directory with rubbish in it, or that is none, is no harm`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("rubbish", to: "entries/ab/abcdef")
        try directory.write("rubbish", to: "entries/file")
        try directory.write("rubbish", to: "drafts/old")
        let cache = DiskResponseCache(location: directory.path)
        await cache.store(try Self.cached(10), for: try Self.request(0))
        await cache.flush()
        #expect(await cache.cachedResponse(for: try Self.request(0))?.data == pattern(10))
        await cache.removeAllCachedResponses()
        #expect(cache.currentDiskUsage == 0)

        let nowhere = DiskResponseCache(memoryCapacity: 0, location: directory.file("entries/file"))
        await nowhere.store(try Self.cached(10), for: try Self.request(0))
        #expect(await nowhere.cachedResponse(for: try Self.request(0)) == nil)
    }

    // Caches of several processes behave as several caches of one.
    // Proves: CCH-21.
    @Test func `caches that share a directory see whole entries and each other's, and keep the capacity`() async throws
    {
        let directory = try TemporaryDirectory()
        let caches = (0..<4).map { _ in
            DiskResponseCache(
                memoryCapacity: 0, diskCapacity: 300_000, location: directory.path, maximumEntryFraction: 1)
        }
        try await withThrowingTaskGroup { group in
            for (index, cache) in caches.enumerated() {
                group.addTask {
                    for round in 0..<60 {
                        let number = (index * 5 + round) % 12
                        if let found = await cache.cachedResponse(for: try Self.request(number)) {
                            #expect(found.data == pattern(10_000 + number))
                        }
                        await cache.store(try Self.cached(10_000 + number), for: try Self.request(number))
                        if round % 20 == 19 { await cache.removeCachedResponse(for: try Self.request(number)) }
                    }
                    await cache.flush()
                }
            }
            try await group.waitForAll()
        }
        let judge = DiskResponseCache(diskCapacity: 300_000, location: directory.path)
        _ = await judge.cachedResponse(for: try Self.request(0))
        #expect(judge.currentDiskUsage <= 300_000)
    }

    // A body too large for memory.
    // Proves: CCH-16.
    @Test func `a large body is written as it comes and read piece by piece`() async throws {
        let directory = try TemporaryDirectory()
        let cache = DiskResponseCache(memoryCapacity: 1000, diskCapacity: 1 << 30, location: directory.path)
        let entry = try CacheEntry.make(.make(200))
        let writer = try #require(await cache.writer(for: entry))
        let body = pattern(3_000_000)
        for start in stride(from: 0, to: body.count, by: 70_001) {
            #expect(await writer.append(Array(body[start..<min(body.count, start + 70_001)])))
        }
        await writer.commit(entry)
        #expect(cache.currentMemoryUsage == 0)
        var stored = entry
        stored.bodyLength = Int64(body.count)
        guard case .stream(let reader) = await cache.body(of: stored) else {
            Issue.record("not on disk")
            return
        }
        await cache.removeAllCachedResponses()
        // A reader that has opened it reads it to its end.
        var read: [UInt8] = []
        while let piece = try await reader.next() { read += piece }
        #expect(read == body)
    }
}
