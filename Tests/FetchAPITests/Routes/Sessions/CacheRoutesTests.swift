import FetchEngine
import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct CacheRoutesTests {
    /// An answer that came so many seconds after the others' beginning.
    private func answer(
        _ path: String, at second: Int64, tags: [String] = [], session: TenantSession.ID = .default
    ) throws -> CachedAnswer {
        let url = try URLRecord("https://h\(second % 2).example\(path)")
        let time = UnixTime(seconds: 1_700_000_000 + second)
        let response = Response(
            url: url, status: .ok, headerFields: [.cacheControl: "max-age=60", .contentType: "text/html"],
            expectedContentLength: 3)
        let entry = CacheEntry(
            key: CacheKey(url: url), id: CacheEntry.ID(rawValue: UInt64(second)), selection: .any, response: response,
            requestTime: time, responseTime: time, userInfo: ["a": "b"], bodyLength: 3)
        return CachedAnswer(session: session, entry: entry, tags: tags)
    }

    private func urls(_ answer: TestAnswer) -> [String] {
        guard case .array(let answers)? = answer.json?["data"] else { return [] }
        return answers.compactMap { $0["url"]?.string }
    }

    // Proves: CCH-13, CCH-18.
    @Test func `answers are listed page by page, chosen, and purged`() async throws {
        let server = try await TestServer()
        for second in 0..<5 { server.cache.put(try answer("/\(second)", at: Int64(second), tags: ["t\(second)"])) }
        try await server.test { call async throws in
            var found: [String] = []
            var path: String? = "/v1/cache?limit=2"
            while let next = path {
                let page = try await call(.get, next)
                found += urls(page)
                path = page.json?["nextCursor"]?.string.map { "/v1/cache?limit=2&cursor=\($0)" }
            }
            #expect(found.compactMap(\.last) == ["4", "3", "2", "1", "0"])
            let first = try await call(.get, "/v1/cache?url=https://h0.example/4%23x").json?["data"]?[0]
            #expect(first?["userInfo"]?["a"]?.string == "b" && first?["bytes"]?.integer == 3)
            #expect(first?["session"]?.string == "default" && first?["mimeType"]?.string == "text/html")
            #expect(urls(try await call(.get, "/v1/cache?host=H1.example")).count == 2)
            #expect(urls(try await call(.get, "/v1/cache?host=h1.example&tag=t4")).isEmpty)
            #expect(urls(try await call(.get, "/v1/cache?since=2023-11-14T22:13:23Z")).count == 2)
            #expect(try await call(.delete, "/v1/cache?tag=t3").json?["removed"]?.integer == 1)
            #expect(try await call(.delete, "/v1/cache?prefix=https://h0.example/").json?["removed"]?.integer == 3)
            #expect(try await call(.delete, "/v1/cache?all=true").json?["removed"]?.integer == 1)
        }
    }

    // Proves: RSP-9, CCH-18.
    @Test func `one answer is read, with its body apart, and removed`() async throws {
        let server = try await TestServer()
        let answer = try answer("/1", at: 1)
        server.cache.put(answer, body: Array("abc".utf8))
        server.cache.put(try self.answer("/2", at: 2))
        try await server.test { call async throws in
            let path = "/v1/cache/entries/\(answer.id)"
            let listed = try await call(.get, "/v1/cache?url=https://h1.example/1").json?["data"]?[0]
            #expect(listed?["id"]?.string == answer.id.description)
            let entry = try await call(.get, path).json
            #expect(entry?["id"]?.string == answer.id.description && entry?["status"]?.integer == 200)
            #expect(entry?["userInfo"]?["a"]?.string == "b" && entry?["storagePolicy"]?.string == "allowed")
            #expect(entry?["bytes"]?.integer == 3 && entry?["freshnessLifetime"]?.integer == 60)
            let body = try await call(.get, try #require(entry?["body"]?["href"]?.string))
            #expect(body.text == "abc" && body.headers[.contentType] == "text/html")
            #expect(body.headers[.contentDisposition] == "attachment")
            #expect(try await call(.delete, path).status == .noContent)
            for path in [path, path + "/body", "/v1/cache/entries/x"] {
                #expect(try await call(.get, path).problem == .notFound)
            }
            #expect(try await call(.delete, path).problem == .notFound)
            #expect(urls(try await call(.get, "/v1/cache")) == ["https://h0.example/2"])
        }
    }

    // Proves: CCH-19.
    @Test func `a session's answers are chosen by its id`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let made = try #require(try await call(.post, "/v1/sessions", body: "{}").json?["id"]?.string)
            let session = try #require(TenantSession.ID(made))
            server.cache.put(try answer("/1", at: 1))
            server.cache.put(try answer("/2", at: 2, session: session))
            #expect(urls(try await call(.get, "/v1/cache")).count == 2)
            #expect(urls(try await call(.get, "/v1/cache?session=\(made)")) == ["https://h0.example/2"])
            #expect(urls(try await call(.get, "/v1/cache?session=default")) == ["https://h1.example/1"])
        }
    }

    // Proves: CCH-18.
    @Test func `what would become of a request is explained`() async throws {
        let server = try await TestServer()
        server.cache.put(try answer("/1", at: 1))
        try await server.test { call async throws in
            let explained = try await call(.get, "/v1/cache/explain?url=https://h1.example/1").json?["answers"]
            #expect(explained?[0]?["verdict"]?.string == "miss")
            #expect(explained?[0]?["hasValidator"] == .bool(false))
            #expect(explained?[0]?["freshnessLifetime"]?.integer == 60)
            let none = try await call(.get, "/v1/cache/explain?url=https://h1.example/2")
            #expect(none.status == .ok && none.json?["answers"]?[0] == nil)
        }
    }

    @Test(arguments: [
        (#"{"status": 200}"#, "/url"),
        (#"{"url": "http://a.example/"}"#, "/status"),
        (#"{"url": "ftp://a.example/", "status": 200}"#, "/url"),
        (#"{"url": "http://me:secret@a.example/", "status": 200}"#, "/url"),
        (#"{"url": "http://a.example/", "status": 199}"#, "/status"),
        (#"{"url": "http://a.example/", "status": 206}"#, "/status"),
        (#"{"url": "http://a.example/", "status": 304}"#, "/status"),
        (#"{"url": "http://a.example/", "status": 401}"#, "/status"),
        (#"{"url": "http://a.example/", "status": 200, "method": "PUT"}"#, "/method"),
        (#"{"url": "http://a.example/", "status": 200, "session": "x"}"#, "/session"),
        (#"{"url": "http://a.example/", "status": 200, "session": "ses_00000000000000000000000001"}"#, "/session"),
        (#"{"url": "http://a.example/", "status": 200, "body": {}}"#, "/body"),
        (#"{"url": "http://a.example/", "status": 200, "body": {"text": "a", "base64": "YQ=="}}"#, "/body"),
        (#"{"url": "http://a.example/", "status": 200, "body": {"base64": "?"}}"#, "/body/base64"),
        (#"{"url": "http://a.example/", "status": 200, "storagePolicy": "allowedInMemoryOnly"}"#, "/storagePolicy"),
        (#"{"url": "http://a.example/", "status": 200, "userInfo": {"a": 1}}"#, "/userInfo/a"),
        (
            #"{"url": "http://a.example/", "status": 200, "headers": [{"name": "a b", "value": "c"}]}"#,
            "/headers/0/name"
        ),
        (
            #"{"url": "http://a.example/", "status": 200, "headers": [{"name": "a", "value": "c\r\nd: e"}]}"#,
            "/headers/0/value"
        ),
        (
            #"{"url": "http://a.example/", "status": 200, "headers": [{"name": "Vary", "value": "a, *"}]}"#, "/headers"
        ),
        (
            #"{"url": "http://a.example/", "status": 301, "headers": [{"name": "Location", "value": "//u:p@b/"}]}"#,
            "/headers"
        ),
        (
            #"{"url": "http://a.example/", "status": 200, "request": {"headers": [{"name": "Cookie", "value": "a"}]}}"#,
            "/request/headers/0/name"
        ),
    ])
    func `an answer that no cache could hold is refused by its member, and nothing is stored`(
        body: String, pointer: String
    ) async throws {
        try await TestServer().test { call async throws in
            let refused = try await call(.post, "/v1/cache/entries", body: body)
            #expect(refused.problem == .invalidInput && refused.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, "/v1/cache").json?["data"]?.count == 0)
        }
    }

    @Test(arguments: [
        "/v1/cache?url=ftp://h/", "/v1/cache?url=x", "/v1/cache?since=yesterday", "/v1/cache?host=h&host=h",
        "/v1/cache?cursor=x", "/v1/cache?limit=0", "/v1/cache?other=1", "/v1/cache/explain", "/v1/cache?session=x",
        "/v1/cache/explain?url=http://h/&host=h",
    ])
    func `a query that means nothing is refused`(path: String) async throws {
        try await TestServer().test { call async throws in
            #expect(try await call(.get, path).problem == .invalidParameter)
        }
    }
}
