import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// The cache and protocols of the program's own.
@Suite struct HandlerCachingTests {
    /// Serves `kept:` URLs, counts its loads, and confirms the stored response when it is told to.
    private final class Handler: ProtocolHandler {
        let storagePolicy: CachedResponse.StoragePolicy
        let confirms: Bool
        let loads = Progress()

        init(_ storagePolicy: CachedResponse.StoragePolicy, confirms: Bool = false) {
            self.storagePolicy = storagePolicy
            self.confirms = confirms
        }

        func canHandle(_ request: Request) -> Bool { request.url.scheme == "kept" }

        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
            let number = loads.add(1)
            if confirms, client.cachedResponse != nil { return try await client.cachedResponseIsValid() }
            try await client.received(Response(url: request.url, status: .ok), storagePolicy: storagePolicy)
            try await client.received(Array("load \(number)".utf8))
        }
    }

    private static func request(_ policy: CachePolicy = .useProtocolCachePolicy) throws -> Request {
        var request = Request(url: try URLRecord("kept://host/a"))
        request.cachePolicy = policy
        return request
    }

    // Proves: CCH-6, PRT-5.
    @Test func `a handler decides whether its answers are kept, and policies decide whether they are used`()
        async throws
    {
        let handler = Handler(.allowed)
        let session = Session.caching { $0.protocolHandlers = [handler] }
        await expect(.resourceUnavailable) { try await session.data(for: try Self.request(.returnCacheDataDontLoad)) }
        #expect(handler.loads.value == 0)
        #expect(try await session.text(try Self.request()).0 == "load 1")
        #expect(try await session.text(try Self.request(.returnCacheDataDontLoad)).0 == "load 1")
        #expect(try await session.text(try Self.request(.returnCacheDataElseLoad)).1.source == .cache)
        #expect(handler.loads.value == 1)
        #expect(try await session.text(try Self.request()).0 == "load 2")
        #expect(try await session.text(try Self.request(.returnCacheDataElseLoad)).0 == "load 2")
    }

    // Proves: CCH-6, CCH-17.
    @Test func `what a handler does not allow is not kept`() async throws {
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache) { $0.protocolHandlers = [Handler(.notAllowed)] }
        _ = try await session.text(try Self.request())
        _ = try await session.text(Request(url: try URLRecord("data:,hello")))
        #expect(cache.currentMemoryUsage == 0)
        let memory = Session.caching(in: cache) { $0.protocolHandlers = [Handler(.allowedInMemoryOnly)] }
        _ = try await memory.text(try Self.request())
        #expect(await cache.cachedResponse(for: try Self.request())?.storagePolicy == .allowedInMemoryOnly)
    }

    // Proves: CCH-6.
    @Test func `a handler may confirm what the cache has`() async throws {
        let handler = Handler(.allowed, confirms: true)
        let session = Session.caching { $0.protocolHandlers = [handler] }
        _ = try await session.text(try Self.request())
        let (body, response) = try await session.text(try Self.request())
        #expect(body == "load 1")
        #expect(response.source == .revalidated)
        #expect(handler.loads.value == 2)
        #expect(try await session.text(try Self.request(.reloadIgnoringLocalCacheData)).0 == "load 3")
    }
}
