import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// A process that stores without end is killed at random moments.
@Suite struct CacheCrashTests {
    private static let variable = "CACHE_WRITER_LOCATION"

    private static var location: String? { getenv(variable).map { String(cString: $0) } }

    private static func cache(at location: String) -> DiskResponseCache {
        DiskResponseCache(
            memoryCapacity: 0, diskCapacity: 20_000_000, location: location, maximumEntryFraction: 0.5)
    }

    private static func body(_ number: Int, _ version: UInt8) -> [UInt8] {
        [UInt8](repeating: version, count: number.isMultiple(of: 3) ? 400_000 + number : 1000 + number)
    }

    /// The process that is killed: this test program again, running only this.
    @Test(.enabled(if: location != nil, "runs in the process that is killed"))
    func `the writer stores until it is killed`() async throws {
        let cache = Self.cache(at: Self.location ?? "")
        for round in 0... {
            for number in 0..<9 {
                let request = try Request.make(.get, "http://h.test/\(number)")
                var cached = CachedResponse(response: Response(url: request.url, status: .ok), data: [])
                cached.data = Self.body(number, UInt8(truncatingIfNeeded: round))
                await cache.store(cached, for: request)
                _ = write(1, "@", 1)
                if round % 5 == number,
                    let entry = await cache.entries(for: CacheKey(request), selectedBy: request).first
                {
                    let new = entry.refreshed(by: try .make(304), sentAt: sendingTime, receivedAt: sendingTime)
                    await cache.refresh(new, replacing: entry.id)
                }
            }
            await cache.flush()
        }
    }

    // Proves: CCH-21.
    @Test(.enabled(if: location == nil), .timeLimit(.minutes(2)))
    func `kill -9 at any moment leaves whole bodies only`() async throws {
        let directory = try TemporaryDirectory()
        var environment = ["PATH": "/usr/bin:/bin", Self.variable: directory.path]
        if let path = getenv("LD_LIBRARY_PATH") { environment["LD_LIBRARY_PATH"] = String(cString: path) }
        var state: UInt64 = 42
        var found = 0
        for _ in 0..<12 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let program = try Program(
                ["/proc/self/exe", "--testing-library", "swift-testing", "--filter", "CacheCrashTests"],
                environment: environment, readsOutput: true)
            let stores = Int(state >> 33) % 60 + 1
            try await onThread {
                var count = 0
                while count < stores, case let piece = program.nextOutput(), !piece.isEmpty {
                    count += piece.count { $0 == "@" }
                }
                program.send(SIGKILL)
                _ = program.waitForEnd()
                #expect(count >= stores, "the writer ended by itself")
            }
            let cache = Self.cache(at: directory.path)
            for number in 0..<9 {
                let request = try Request.make(.get, "http://h.test/\(number)")
                guard let cached = await cache.cachedResponse(for: request) else { continue }
                found += 1
                #expect(cached.data == Self.body(number, cached.data.first ?? 0))
            }
        }
        #expect(found > 0)
    }
}
