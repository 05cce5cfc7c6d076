import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Loads with a cache, against an origin that plays exact bytes.
@Suite struct CachedLoadTests {
    // Proves: CCH-1, CCH-7, CCH-20, FN-34, URL-4, CON-5.
    @Test func `what is fresh is loaded once`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60", "X: 1")
        let session = Session.caching()
        let (first, fetched) = try await session.text(try origin.request("/a?b#c"))
        #expect(first == "body")
        #expect(fetched.source == .network)
        #expect(fetched.cacheStatus.description == "FetchEngine;fwd=uri-miss;ttl=60;stored")
        let task = session.dataTask(with: try origin.request("/a?b#d"))
        let (second, served) = try await task.data()
        #expect(second == Array("body".utf8))
        #expect(origin.count == 1)
        #expect(served.source == .cache)
        #expect(served.cacheStatus.isHit)
        #expect(served.headerFields[.age] != nil)
        #expect(served.headerFields[HTTPField.Name("X")!] == "1")
        #expect(served.url.description.hasSuffix("/a?b#d"))
        #expect(task.metrics.transactions.map(\.resourceFetchType) == [.localCache])
        #expect(task.countOfBytesReceived == 4)
        #expect(task.state == .completed)
    }

    // One round trip with both validators.
    // Proves: CCH-7, FN-36.
    @Test func `what is stale is confirmed with both validators`() async throws {
        let origin = try CachingOrigin { number, _ in
            number == 1
                ? CachingOrigin.answer(
                    200, ["ETag: \"a\"", "Last-Modified: \(Dates.tenDaysAgo)", "Cache-Control: max-age=0"], body: "body"
                )
                : CachingOrigin.answer(304, ["ETag: \"a\"", "Cache-Control: max-age=60", "X: new"])
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        let task = session.dataTask(with: try origin.request())
        let (body, response) = try await task.data()
        #expect(body == Array("body".utf8))
        #expect(response.status == .ok)
        #expect(response.source == .revalidated)
        #expect(response.headerFields[HTTPField.Name("X")!] == "new")
        #expect(response.cacheStatus.description == "FetchEngine;fwd=stale;fwd-status=304;ttl=60;stored")
        #expect(task.metrics.transactions.map(\.resourceFetchType) == [.networkLoad, .localCache])
        #expect(task.metrics.transactions.map(\.status) == [304, 200])
        #expect(task.currentRequest.headerFields.isEmpty)
        #expect(origin.heads[1].field("If-None-Match") == "\"a\"")
        #expect(origin.heads[1].field("If-Modified-Since") == Dates.tenDaysAgo)
        #expect(try await session.text(try origin.request()).1.source == .cache)
        #expect(origin.count == 2)
    }

    // Proves: CCH-7.
    @Test func `what has changed is loaded and takes the place of the old`() async throws {
        let origin = try CachingOrigin { number, _ in
            CachingOrigin.answer(
                200, ["ETag: \"\(number)\"", "Cache-Control: max-age=\(number == 1 ? 0 : 60)"], body: "body \(number)")
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        #expect(try await session.text(try origin.request()).0 == "body 2")
        #expect(try await session.text(try origin.request()).0 == "body 2")
        #expect(origin.count == 2)
    }

    // A server that confirms an entry that nobody asked about.
    // Proves: CCH-7.
    @Test func `a 304 with another entity tag leads to a plain request`() async throws {
        let origin = try CachingOrigin { number, head in
            switch number {
            case 1: CachingOrigin.answer(200, ["ETag: \"a\"", "Cache-Control: no-cache"], body: "one")
            case 2: CachingOrigin.answer(304, ["ETag: \"b\""])
            default: CachingOrigin.answer(200, ["ETag: \"b\""], body: "two")
            }
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        #expect(try await session.text(try origin.request()).0 == "two")
        #expect(origin.heads[1].field("If-None-Match") == "\"a\"")
        #expect(origin.heads[2].field("If-None-Match") == nil)
    }

    /// The effect of a policy: whether it asks, with which fields.
    struct PolicyCase: Sendable {
        let policy: CachePolicy
        var asks = true
        var tag: String?
        var control: String?
        var pragma: String?
    }

    // The request of each policy when a stale response is stored.
    // Proves: CCH-2, CCH-3, CCH-5, BEY-5, FN-27.
    @Test(arguments: [
        PolicyCase(policy: .useProtocolCachePolicy, tag: "\"a\""),
        PolicyCase(policy: .reloadIgnoringLocalCacheData),
        PolicyCase(policy: .reloadIgnoringLocalAndRemoteCacheData, control: "no-cache", pragma: "no-cache"),
        PolicyCase(policy: .returnCacheDataElseLoad, asks: false),
        PolicyCase(policy: .returnCacheDataDontLoad, asks: false),
        PolicyCase(policy: .reloadRevalidatingCacheData, tag: "\"a\"", control: "max-age=0"),
    ])
    func `each policy`(_ expected: PolicyCase) async throws {
        let origin = try CachingOrigin { number, _ in
            CachingOrigin.answer(200, ["ETag: \"a\"", "Cache-Control: max-age=0"], body: "body \(number)")
        }
        let cache = MemoryResponseCache()
        _ = try await Session.caching(in: cache).text(try origin.request())
        var request = try origin.request()
        request.cachePolicy = expected.policy
        #expect(try await Session.caching(in: cache).text(request).0 == (expected.asks ? "body 2" : "body 1"))
        #expect(origin.count == (expected.asks ? 2 : 1))
        if expected.asks {
            #expect(origin.heads[1].field("If-None-Match") == expected.tag)
            #expect(origin.heads[1].field("Cache-Control") == expected.control)
            #expect(origin.heads[1].field("Pragma") == expected.pragma)
        }
        // The session's policy is for requests without one of their own.
        let session = Session.caching(in: cache) { $0.requestCachePolicy = .returnCacheDataDontLoad }
        #expect(try await session.text(try origin.request()).1.source == .cache)
    }

    @Test func `to reload after validation is asked for also where nothing is stored`() async throws {
        let origin = try CachingOrigin { _, _ in CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "a") }
        var request = try origin.request()
        request.cachePolicy = .reloadRevalidatingCacheData
        _ = try await Session.caching().text(request)
        #expect(origin.heads[0].field("Cache-Control") == "max-age=0")
    }

    // The fresh answer replaces the stored one.
    // Proves: CCH-2.
    @Test func `reloading stores the new answer`() async throws {
        let origin = try CachingOrigin { number, _ in
            CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "body \(number)")
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        var reload = try origin.request()
        reload.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(try await session.text(reload).0 == "body 2")
        #expect(try await session.text(try origin.request()).0 == "body 2")
    }

    // Nothing is sent, with any scheme.
    // Proves: CCH-4, CCH-6, FN-27.
    @Test func `a miss that may not load fails without a connection`() async throws {
        let origin = try WireOrigin(playing: CachingOrigin.answer(200, []))
        for url in [origin.url(), "ftp://127.0.0.1:\(origin.port)/"] {
            var request = Request(url: try URLRecord(url))
            request.cachePolicy = .returnCacheDataDontLoad
            await expect(.resourceUnavailable) { try await Session.caching().data(for: request) }
            await expect(.resourceUnavailable) { try await Session().data(for: request) }
        }
        #expect(origin.connections.isEmpty)
    }

    // Proves: CCH-9, FN-35.
    @Test func `query and method are part of the key`() async throws {
        let origin = try CachingOrigin { number, _ in
            CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "body \(number)")
        }
        let session = Session.caching()
        #expect(try await session.text(try origin.request("/x?a=1")).0 == "body 1")
        #expect(try await session.text(try origin.request("/x?a=2")).0 == "body 2")
        #expect(try await session.text(try origin.request("/x?a=2", .post)).0 == "body 3")
        #expect(try await session.text(try origin.request("/x?a=1")).0 == "body 1")
    }

    // Proves: CCH-8, FN-36.
    @Test func `answers chosen by Vary are stored side by side`() async throws {
        let origin = try CachingOrigin { _, head in
            CachingOrigin.answer(
                200, ["Cache-Control: max-age=60", "Vary: Accept-Language"],
                body: head.field("Accept-Language") ?? "none")
        }
        let session = Session.caching()
        for _ in 0..<2 {
            for language in ["en", "de"] {
                let request = try origin.request("/", .get, "Accept-Language: \(language)")
                #expect(try await session.text(request).0 == language)
            }
        }
        #expect(origin.count == 2)
        let other = try await session.text(try origin.request())
        #expect(other.0 == "none")
        #expect(other.1.cacheStatus.forward == .varyMiss)
    }

    // Proves: CCH-9.
    @Test func `what one user got is not given to another`() async throws {
        let origin = try CachingOrigin { _, head in
            CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: head.field("Authorization") ?? "nobody")
        }
        let session = Session.caching()
        for _ in 0..<2 {
            for user in ["Bearer a", "Bearer b"] {
                let request = try origin.request("/", .get, "Authorization: \(user)")
                #expect(try await session.text(request).0 == user)
            }
        }
        #expect(try await session.text(try origin.request()).0 == "nobody")
        #expect(origin.count == 3)
    }

    // The storage's cookies are part of the request that Vary speaks of.
    // Proves: CCH-8, FN-36.
    @Test func `an answer that varies by cookies is for the same cookies`() async throws {
        let origin = try CachingOrigin { _, head in
            CachingOrigin.answer(
                200, ["Cache-Control: max-age=60", "Vary: Cookie"], body: head.field("Cookie") ?? "none")
        }
        let session = Session.caching()
        let storage = try #require(session.configuration.httpCookieStorage)
        for value in ["none", "a=1", "a=2", "a=2"] {
            if value != "none" {
                let url = try origin.request().url
                let cookies = Cookie.verdicts(
                    onResponseHeaderFields: .init(lines: ["Set-Cookie: \(value)"]),
                    from: CookieContext(url: url, mainDocumentURL: nil, acceptPolicy: .always), at: .now)
                _ = try await storage.store(
                    cookies, from: CookieContext(url: url, mainDocumentURL: nil, acceptPolicy: .always), at: .now)
            }
            #expect(try await session.text(try origin.request()).0 == value)
        }
        #expect(origin.count == 3)
    }

    // A cookie that was deleted since does not come back with the stored answer.
    // Proves: CCH-20.
    @Test func `a stored answer sets no cookies again`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60", "Set-Cookie: a=1")
        let session = Session.caching()
        let first = session.dataTask(with: try origin.request())
        _ = try await first.data()
        #expect(first.cookieVerdicts.count == 1)
        let second = session.dataTask(with: try origin.request())
        let (_, response) = try await second.data()
        #expect(response.headerFields[.setCookie] == "a=1")
        #expect(second.cookieVerdicts.isEmpty)
    }

    // A server that names no Vary still does not make us mix up coded and plain bytes.
    // Proves: CCH-8.
    @Test func `a coded answer is given as it is, or with its coding undone`() async throws {
        let packed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        let requests = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                requests.add(1)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Encoding: gzip\r\n"
                        + "Content-Length: \(packed.count)\r\n\r\n")
                try connection.send(packed)
            }
        }
        let plain = Request(url: try URLRecord(origin.url()))
        let raw = Request(url: plain.url, headerFields: .init(lines: ["Accept-Encoding: gzip"]))
        let cache = MemoryResponseCache()
        let decoding = Session.caching(in: cache)
        let leaving = Session.caching(in: cache) { $0.automaticallyDecodesContent = false }
        for _ in 0..<2 {
            #expect(try await decoding.data(for: raw).0 == packed)
            #expect(try await decoding.data(for: plain).0 == Array("hello".utf8))
            #expect(try await leaving.data(for: plain).0 == packed)
        }
        #expect(requests.value == 3)
    }

    // Invalidation over the wire, RFC 9111 §4.4.
    // Proves: CCH-8.
    @Test func `a successful unsafe request makes the next GET ask`() async throws {
        let origin = try CachingOrigin { number, head in
            CachingOrigin.answer(
                head.hasPrefix("PUT") ? 204 : head.hasPrefix("DELETE") ? 404 : 200,
                ["Cache-Control: max-age=60", "Content-Location: /named"],
                body: head.hasPrefix("PUT") ? "" : "body \(number)")
        }
        let session = Session.caching()
        for path in ["/", "/named", "/other"] { _ = try await session.text(try origin.request(path)) }
        _ = try await session.upload(for: try origin.request("/", .put), from: .bytes([1]))
        for path in ["/", "/named", "/other"] { _ = try await session.text(try origin.request(path)) }
        #expect(
            origin.heads.map { $0.prefix { $0 != "\r\n" } }.dropFirst(4) == ["GET / HTTP/1.1", "GET /named HTTP/1.1"])
        _ = try await session.text(try origin.request("/other", .delete))
        #expect(try await session.text(try origin.request("/other")).1.source == .cache)
    }

    // RFC 9111 §4.3.5.
    // Proves: CCH-8, CCH-9.
    @Test func `HEAD is answered from what GET stored, without a body`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        let (body, response) = try await session.text(try origin.request("/", .head))
        #expect(body.isEmpty)
        #expect(response.source == .cache)
        #expect(response.headerFields[.contentLength] == "4")
        #expect(origin.count == 1)
    }

    // Proves: RED-17, CCH-10.
    @Test(arguments: [(301, [], 2), (308, [], 2), (302, [], 3), (307, ["Cache-Control: max-age=60"], 2)])
    func `a redirect is followed from the cache when it may be stored`(
        _ code: Int, _ lines: [String], _ requests: Int
    ) async throws {
        let origin = try CachingOrigin { _, head in
            head.hasPrefix("GET /from")
                ? CachingOrigin.answer(
                    code, lines + ["Location: /to", "Last-Modified: \(Dates.aYearAgo)"], body: "moved")
                : CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: "there")
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request("/from"))
        let task = session.dataTask(with: try origin.request("/from"))
        #expect(try await task.data().0 == Array("there".utf8))
        #expect(task.redirects.count == 1)
        #expect(origin.count == requests)
        #expect(task.metrics.transactions.count == 2)
        #expect(task.metrics.transactions.last?.resourceFetchType == .localCache)
    }

    // RFC 5861 §4.
    // Proves: CCH-8.
    @Test func `a stale answer stands in for an error and for a lost connection`() async throws {
        let origin = try CachingOrigin { _, head in
            switch head.field("Case") {
            case "whole":
                CachingOrigin.answer(
                    200, ["ETag: \"a\"", "Cache-Control: max-age=0, stale-if-error=60"], body: "body")
            case "failing": CachingOrigin.answer(503, [], body: "sorry")
            case "closing": nil
            default: CachingOrigin.answer(404, [], body: "gone")
            }
        }
        let session = Session.caching()
        for name in ["whole", "failing", "closing"] {
            let (body, response) = try await session.text(try origin.request("/", .get, "Case: \(name)"))
            #expect(body == "body")
            #expect(response.source == (name == "whole" ? .network : .cache))
        }
        let (gone, response) = try await session.text(try origin.request())
        #expect(gone == "gone")
        #expect(response.status.code == 404)
    }

    // RFC 5861 §3.
    // Proves: CCH-8.
    @Test(.timeLimit(.minutes(1)))
    func `a stale answer is given while it is being confirmed`() async throws {
        let origin = try CachingOrigin { number, head in
            number == 1
                ? CachingOrigin.answer(
                    200, ["ETag: \"a\"", "Cache-Control: max-age=0, stale-while-revalidate=60"], body: "old")
                : CachingOrigin.answer(200, ["ETag: \"b\"", "Cache-Control: max-age=60"], body: "new")
        }
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        let (body, response) = try await session.text(try origin.request())
        #expect(body == "old")
        #expect(response.cacheStatus.detail == "stale-while-revalidate")
        // This one does not take a stale response, so it waits for the load in the background.
        let (next, _) = try await session.text(try origin.request("/", .get, "Cache-Control: min-fresh=1"))
        #expect(next == "new")
        #expect(origin.count == 2)
        #expect(origin.heads[1].field("If-None-Match") == "\"a\"")
    }

    // RFC 9111 §5.2.1.7.
    // Proves: CCH-8.
    @Test func `only-if-cached gives 504 without a connection`() async throws {
        let origin = try WireOrigin(playing: CachingOrigin.answer(200, []))
        let request = Request(
            url: try URLRecord(origin.url()), headerFields: .init(lines: ["Cache-Control: only-if-cached"]))
        let (body, response) = try await Session.caching().text(request)
        #expect(response.status.code == 504)
        #expect(body.isEmpty)
        #expect(origin.connections.isEmpty)
    }

    // Bodies that are not whole, and such as are too large.
    // Proves: CCH-10, CCH-21.
    @Test func `what breaks off is not stored`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nshort")
        }
        let cache = MemoryResponseCache()
        let request = Request(url: try URLRecord(origin.url()))
        await expect(.networkConnectionLost) { try await Session.caching(in: cache).data(for: request) }
        #expect(await cache.cachedResponse(for: request) == nil)
        #expect(cache.currentMemoryUsage == 0)
    }

    // Proves: CCH-10.
    @Test(arguments: [true, false])
    func `what is too large is delivered and not stored`(_ isAnnounced: Bool) async throws {
        let body = String(repeating: "x", count: 2000)
        let origin = try CachingOrigin { _, _ in
            isAnnounced
                ? CachingOrigin.answer(200, ["Cache-Control: max-age=60"], body: body)
                : "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n\(body)\r\n0\r\n\r\n"
        }
        let cache = MemoryResponseCache(capacity: 20_000)
        for _ in 0..<2 {
            let (received, response) = try await Session.caching(in: cache).text(try origin.request())
            #expect(received == body)
            #expect(response.source == .network)
            #expect(response.cacheStatus.isStored != isAnnounced)
        }
        #expect(cache.currentMemoryUsage == 0)
    }

    // Proves: CCH-19, SES-6.
    @Test func `sessions share what they share a cache with`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        for shared in [cache, cache, MemoryResponseCache()] {
            _ = try await Session.caching(in: shared).text(try origin.request())
        }
        _ = try await Session().text(try origin.request())
        #expect(origin.count == 3)
    }

    // The flow with a body that memory does not hold.
    // Proves: CCH-16, CCH-21.
    @Test(arguments: [0, 1, 100_000, 3_000_000])
    func `a body of any size comes back from the disk, whole or piece by piece`(_ count: Int) async throws {
        let directory = try TemporaryDirectory()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(count)\r\n\r\n")
                try connection.send(pattern(count))
            }
        }
        let request = Request(url: try URLRecord(origin.url()))
        let cache = DiskResponseCache(memoryCapacity: 0, location: directory.path)
        let session = Session.caching(in: cache)
        #expect(try await session.data(for: request).0 == pattern(count))
        let (whole, response) = try await session.data(for: request)
        #expect(whole == pattern(count))
        #expect(response.source == .cache)
        #expect(response.expectedContentLength == Int64(count))
        let (bytes, _) = try await session.bytes(for: request)
        var pieces: [UInt8] = []
        for try await piece in bytes { pieces += piece }
        #expect(pieces == pattern(count))
        #expect(origin.connections.count == 1)
        let head = Request(url: request.url, method: .head)
        #expect(try await session.data(for: head).0.isEmpty)
    }

    // Proves: BEY-21, CCH-18.
    @Test func `resetting a session empties its cache`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let session = Session.caching()
        _ = try await session.text(try origin.request())
        try await session.reset()
        #expect(try await session.text(try origin.request()).1.source == .network)
    }

    // Proves: BEY-24, CCH-18.
    @Test func `a task finds, stores and removes its answer`() async throws {
        let origin = try CachingOrigin("Cache-Control: max-age=60")
        let cache = MemoryResponseCache()
        let session = Session.caching(in: cache)
        let task = session.dataTask(with: try origin.request())
        _ = try await task.data()
        #expect(await cache.cachedResponse(for: task)?.data == Array("body".utf8))
        var changed = try #require(await cache.cachedResponse(for: task))
        changed.data = Array("mine".utf8)
        await cache.store(changed, for: task)
        #expect(try await session.text(try origin.request()).0 == "mine")
        await cache.removeCachedResponse(for: task.originalRequest)
        #expect(try await session.text(try origin.request()).0 == "body")
    }
}
