import FetchEngine
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Downloads beside a cache.
@Suite struct DownloadCacheTests {
    /// Counts how often it is asked about storing.
    private final class Asked: TaskDelegate {
        let count = TestSupport.Progress()

        func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
            count.add(1)
            return response
        }
    }

    // Proves: DLD-8, CCH-14.
    @Test func `a download stores nothing, asks nothing, and may be served from the cache`()
        async throws
    {
        let requests = TestSupport.Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                requests.add(1)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        var configuration = SessionConfiguration()
        let cache = MemoryResponseCache()
        configuration.urlCache = cache
        let session = Session(configuration: configuration)
        let request = Request(url: try URLRecord(origin.url("/a")))
        let asked = Asked()
        #expect(try await session.download(for: request, delegate: asked).byteCount == 5)
        #expect(await cache.cachedResponse(for: request) == nil)
        #expect(asked.count.value == 0)
        _ = try await session.data(for: request, delegate: asked)
        #expect(asked.count.value == 1)
        #expect(requests.value == 2)
        let file = try await session.download(for: request, delegate: asked)
        #expect(FileManager.default.contents(atPath: file.path).map(Array.init) == Array("hello".utf8))
        #expect(asked.count.value == 1)
        #expect(requests.value == 2)
    }
}
