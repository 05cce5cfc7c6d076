import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Loads with a cache, from servers that others wrote.
@Suite struct CachingServerTests {
    private static func request(_ server: LoopbackServer, _ path: String, _ lines: String...) throws -> Request {
        Request(
            url: try URLRecord("http://127.0.0.1:\(server.port)\(path)"), headerFields: .init(lines: lines))
    }

    // Proves: CCH-1, CCH-7, CCH-8, CCH-10.
    @Test func `nginx is asked once for what is fresh, and asked again for what is to be confirmed`() async throws {
        let nginx = try await LoopbackServer.cachingNginx(files: ["file": "content"])
        let session = Session.caching()
        for _ in 0..<3 {
            #expect(try await session.text(try Self.request(nginx, "/fresh/file")).0 == "content")
        }
        var sources: [Response.Source] = []
        for _ in 0..<3 {
            let (body, response) = try await session.text(try Self.request(nginx, "/validate/file"))
            #expect(body == "content")
            #expect(response.status == .ok)
            sources.append(response.source)
        }
        #expect(sources == [.network, .revalidated, .revalidated])
        // A server writes a request down when it is over: when the next one is answered, it is there.
        _ = try await session.text(try Self.request(nginx, "/plain/file"))
        let lines = nginx.nginxRequests
        #expect(lines.count { $0.hasPrefix("GET /fresh/file 200") } == 1)
        #expect(lines.count { $0.hasPrefix("GET /validate/file 200 -") } == 1)
        #expect(
            lines.count { $0.hasPrefix("GET /validate/file 304 \\x22") || $0.hasPrefix("GET /validate/file 304 \"") }
                == 2)
    }

    // Not a packet on the wire.
    // Proves: CCH-4.
    @Test func `what may come from the cache only never reaches nginx`() async throws {
        let nginx = try await LoopbackServer.cachingNginx(files: ["file": "content"])
        let session = Session.caching { $0.requestCachePolicy = .returnCacheDataDontLoad }
        await expect(.resourceUnavailable) { try await session.data(for: try Self.request(nginx, "/fresh/file")) }
        _ = try await Session().text(try Self.request(nginx, "/plain/file"))
        _ = try await Session().text(try Self.request(nginx, "/plain/file"))
        #expect(!nginx.nginxRequests.contains { $0.contains("/fresh/") })
    }

    // Proves: CCH-8, CCH-9.
    @Test func `nginx's compressed and plain answers are stored side by side`() async throws {
        let text = String(repeating: "content ", count: 200)
        let nginx = try await LoopbackServer.cachingNginx(files: ["file": text])
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache)
        var lengths: [Set<Int>] = []
        for _ in 0..<2 {
            let plain = try await session.data(for: try Self.request(nginx, "/vary/file", "Accept-Encoding: identity"))
            let packed = try await session.data(for: try Self.request(nginx, "/vary/file", "Accept-Encoding: gzip"))
            #expect(plain.0 == Array(text.utf8))
            #expect(packed.1.headerFields[.contentEncoding] == "gzip")
            #expect(packed.1.headerFields[.vary] == "Accept-Encoding")
            lengths.append([plain.0.count, packed.0.count])
        }
        #expect(lengths[0] == lengths[1])
        _ = try await session.text(try Self.request(nginx, "/plain/file"))
        #expect(nginx.nginxRequests.count { $0.contains("/vary/") } == 2)
    }

    private static let hasVarnish = LoopbackServer.installed("varnishd") != nil

    // RFC 9111 §4.2.3 with an age that a cache on the way tells.
    // Proves: CCH-8, CCH-20.
    @Test(.enabled(if: hasVarnish, "Varnish is not installed"))
    func `the age that Varnish tells shortens the lifetime`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=600", "Age: 590", "ETag: \"a\"")
        let varnish = try await LoopbackServer.varnish(inFrontOf: origin.port)
        let first = try await Session.caching().text(try Self.request(varnish, "/")).1
        #expect(first.headerFields[.age].flatMap { Int($0) } ?? 0 >= 590)
        #expect(try #require(first.cacheStatus.timeToLive) <= 10)
        let session = Session.caching()
        for source in [Response.Source.network, .cache] {
            let (body, response) = try await session.text(try Self.request(varnish, "/"))
            #expect(body == "body")
            #expect(response.source == source)
        }
        #expect(origin.count == 1)
    }

    // The policies, as a cache on the way obeys them.
    // Proves: BEY-5, CCH-5.
    @Test(.enabled(if: hasVarnish, "Varnish is not installed"))
    func `one policy goes past Varnish, one has it confirm, one takes what it has`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=600", "ETag: \"a\"")
        let varnish = try await LoopbackServer.varnish(inFrontOf: origin.port)
        let session = Session.caching()
        let seen = HTTPField.Name("Seen")!
        func load(_ policy: CachePolicy) async throws -> Response {
            var request = try Self.request(varnish, "/")
            request.cachePolicy = policy
            let (body, response) = try await session.text(request)
            #expect(body == "body")
            return response
        }
        _ = try await load(.useProtocolCachePolicy)
        #expect(try await load(.reloadIgnoringLocalCacheData).source == .network)
        #expect(origin.count == 1)
        let confirmed = try await load(.reloadRevalidatingCacheData)
        #expect(confirmed.source == .revalidated)
        #expect(confirmed.headerFields[seen] == "max-age=0")
        #expect(origin.count == 1)
        let reloaded = try await load(.reloadIgnoringLocalAndRemoteCacheData)
        #expect(reloaded.source == .network)
        #expect(reloaded.headerFields[seen] == "no-cache")
        #expect(origin.count == 2)
    }
}
