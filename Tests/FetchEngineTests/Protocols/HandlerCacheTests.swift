import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Loads by a handler with a cache.
@Suite struct HandlerCacheTests {
    /// Counts its loads, numbers its responses, and confirms the stored one if it is told to.
    final class Counting: ProtocolHandler {
        let count = Progress()
        let policy: CachedResponse.StoragePolicy
        let confirms: Bool
        let equates: Bool

        init(_ policy: CachedResponse.StoragePolicy, confirms: Bool = false, equates: Bool = true) {
            self.policy = policy
            self.confirms = confirms
            self.equates = equates
        }

        func canHandle(_ request: Request) -> Bool { request.url.scheme == "counted" }

        func canonicalRequest(for request: Request) -> Request {
            var canonical = request
            canonical.url = (try? URLRecord("\(request.url)".lowercased())) ?? request.url
            return canonical
        }

        func isEquivalent(_ first: Request, _ second: Request) -> Bool { equates && first.url == second.url }

        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
            let number = count.add(1)
            if confirms, client.cachedResponse != nil { return try await client.cachedResponseIsValid() }
            try await client.received(Response(url: request.url, status: .ok), storagePolicy: policy)
            try await client.received(Array("answer \(number)".utf8))
        }
    }

    private func session(_ handler: Counting, cache: (any ResponseCache)? = MemoryResponseCache()) -> Session {
        var configuration = SessionConfiguration()
        configuration.protocolHandlers = [handler]
        configuration.urlCache = cache
        return Session(configuration: configuration)
    }

    private func load(
        _ session: Session, _ url: String = "counted:a", _ policy: CachePolicy = .useProtocolCachePolicy,
        delegate: (any TaskDelegate)? = nil
    ) async throws -> (text: String, source: Response.Source) {
        let request = Request(url: try URLRecord(url), cachePolicy: policy)
        let (body, response) = try await session.data(for: request, delegate: delegate)
        return (String(decoding: body, as: UTF8.self), response.source)
    }

    // Proves: PRT-7, PRT-9.
    @Test func `a handler may confirm what is cached, and is always asked`() async throws {
        let handler = Counting(.allowed, confirms: true)
        let session = session(handler)
        #expect(try await load(session) == ("answer 1", .network))
        #expect(try await load(session) == ("answer 1", .revalidated))
        // The standard form is looked up.
        #expect(try await load(session, "counted:A") == ("answer 1", .revalidated))
        #expect(try await load(session, "counted:b") == ("answer 4", .network))
        #expect(handler.count.value == 4)
    }

    @Test func `a handler that does not confirm loads anew`() async throws {
        let session = session(Counting(.allowed))
        #expect(try await load(session).text == "answer 1")
        #expect(try await load(session) == ("answer 2", .network))
        #expect(try await load(session, "counted:a", .returnCacheDataDontLoad) == ("answer 2", .cache))
    }

    // Proves: CCH-3, CCH-4.
    @Test func `policies go before the handler`() async throws {
        let handler = Counting(.allowed, confirms: true)
        let session = session(handler)
        await expect(.resourceUnavailable) { try await load(session, "counted:a", .returnCacheDataDontLoad) }
        #expect(handler.count.value == 0)
        #expect(try await load(session, "counted:a", .returnCacheDataElseLoad) == ("answer 1", .network))
        #expect(try await load(session, "counted:a", .returnCacheDataElseLoad) == ("answer 1", .cache))
        #expect(handler.count.value == 1)
        #expect(try await load(session, "counted:a", .reloadIgnoringLocalCacheData) == ("answer 2", .network))
        #expect(try await load(session, "counted:a", .returnCacheDataDontLoad) == ("answer 2", .cache))
    }

    // Proves: PRT-9, CCH-17.
    @Test func `only what the handler allows is kept, and as it allows`() async throws {
        for (policy, isKept) in [
            (CachedResponse.StoragePolicy.allowed, true), (.allowedInMemoryOnly, true), (.notAllowed, false),
        ] {
            let cache = MemoryResponseCache()
            _ = try await load(session(Counting(policy), cache: cache))
            let cached = await cache.cachedResponse(for: Request(url: try URLRecord("counted:a")))
            #expect((cached != nil) == isKept)
            if let cached { #expect(cached.storagePolicy == policy) }
        }
    }

    // Proves: CCH-11, CCH-12.
    @Test func `the delegate is asked about a handler's answer`() async throws {
        let cache = MemoryResponseCache()
        let session = session(Counting(.allowedInMemoryOnly), cache: cache)
        let delegate = Marking()
        _ = try await load(session, delegate: delegate)
        let cached = await cache.cachedResponse(for: Request(url: try URLRecord("counted:a")))
        #expect(cached?.userInfo == ["by": "delegate"])
        #expect(cached?.storagePolicy == .allowedInMemoryOnly)
    }

    // Proves: PRT-5.
    @Test func `a handler that equates nothing is given nothing`() async throws {
        let session = session(Counting(.allowed, confirms: true, equates: false))
        #expect(try await load(session).text == "answer 1")
        #expect(try await load(session) == ("answer 2", .network))
        await expect(.resourceUnavailable) { try await load(session, "counted:a", .returnCacheDataDontLoad) }
    }

    // Proves: CCH-6.
    @Test func `data: and file: URLs are never kept`() async throws {
        let file = try TemporaryFile([1, 2, 3])
        let cache = MemoryResponseCache()
        var configuration = SessionConfiguration()
        configuration.fileRoots = ["/tmp"]
        configuration.urlCache = cache
        let session = Session(configuration: configuration)
        for url in ["data:,hello", "file://" + file.path] {
            let request = Request(url: try URLRecord(url))
            _ = try await session.data(for: request)
            #expect(await cache.cachedResponse(for: request) == nil)
            let strict = Request(url: request.url, cachePolicy: .returnCacheDataDontLoad)
            await expect(.resourceUnavailable) { try await session.data(for: strict) }
        }
    }

    // Proves: SES-6.
    @Test func `without a cache there is nothing to confirm`() async throws {
        let session = session(Counting(.allowed, confirms: true), cache: nil)
        #expect(try await load(session).text == "answer 1")
        #expect(try await load(session).text == "answer 2")
    }
}

/// Marks stored responses.
private struct Marking: TaskDelegate {
    func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
        var response = response
        response.userInfo["by"] = "delegate"
        return response
    }
}
