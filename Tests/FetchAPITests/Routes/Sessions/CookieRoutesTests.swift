import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct CookieRoutesTests {
    private func names(_ answer: TestAnswer) -> [String] {
        guard case .array(let cookies)? = answer.json?["data"] else { return [] }
        return cookies.compactMap { $0["name"]?.string }
    }

    // Proves: COK-1, COK-5.
    @Test func `cookies are set, listed and removed`() async throws {
        try await TestServer().test { call async throws in
            let body = #"""
                {"cookies": [
                    {"name": "a", "value": "1", "domain": "h.example", "path": "/x", "isSecure": true,
                     "isHTTPOnly": true, "sameSite": "lax", "expiresDate": "2099-01-02T03:04:05.5+01:00"},
                    {"name": "b", "value": "", "domain": "example.org", "isHostOnly": false}
                ]}
                """#
            let set = try await call(.post, "/v1/cookies", body: body)
            #expect(set.status == .ok && set.json?["set"]?.integer == 2, "\(set.text)")
            let all = try await call(.get, "/v1/cookies")
            #expect(names(all) == ["b", "a"])
            let first = all.json?["data"]?[1]
            #expect(first?["expiresDate"]?.string == "2099-01-02T02:04:05.500Z")
            #expect(first?["sameSite"]?.string == "lax")
            #expect(all.json?["data"]?[0]?["isHostOnly"] == .bool(false))
            #expect(names(try await call(.get, "/v1/cookies?domain=example.org&name=b")) == ["b"])
            #expect(names(try await call(.get, "/v1/cookies?domain=xample.org")) == [])
            let removed = try await call(.delete, "/v1/cookies?domain=example")
            #expect(removed.json?["removed"]?.integer == 1)
            #expect(names(try await call(.get, "/v1/cookies")) == ["b"])
            #expect(try await call(.delete, "/v1/cookies?all=true").json?["removed"]?.integer == 1)
            #expect(names(try await call(.get, "/v1/cookies")) == [])
        }
    }

    @Test(arguments: ["cookies", "credentials", "cache"])
    func `nothing is removed because nothing was said`(kind: String) async throws {
        try await TestServer().test { call async throws in
            for query in ["", "?all=false"] {
                let refused = try await call(.delete, "/v1/\(kind)\(query)")
                #expect(refused.problem == .invalidParameter)
                #expect(refused.json?["detail"]?.string?.contains("all") == true)
            }
            #expect(try await call(.delete, "/v1/\(kind)?all=true").status == .ok)
        }
    }

    // Proves: COK-10.
    @Test func `each session has its own`() async throws {
        try await TestServer().test { call async throws in
            let made = try await call(.post, "/v1/sessions", body: "{}")
            let session = try #require(made.json?["id"]?.string)
            let body = #"{"session": "\#(session)", "cookies": [{"name": "a", "value": "1", "domain": "h.example"}]}"#
            #expect(try await call(.post, "/v1/cookies", body: body).status == .ok)
            #expect(names(try await call(.get, "/v1/cookies?session=\(session)")) == ["a"])
            #expect(names(try await call(.get, "/v1/cookies?session=default")) == [])
            #expect(try await call(.get, "/v1/cookies?session=other").problem == .invalidParameter)
        }
    }

    @Test func `a list is read page by page`() async throws {
        try await TestServer().test { call async throws in
            let cookies = (0..<7).map { #"{"name": "c\#($0)", "value": "1", "domain": "h\#($0 % 2).example"}"# }
            let body = #"{"cookies": [\#(cookies.joined(separator: ","))]}"#
            #expect(try await call(.post, "/v1/cookies", body: body).status == .ok)
            var found: [String] = []
            var path: String? = "/v1/cookies?limit=3&domain=example"
            while let next = path {
                let page = try await call(.get, next)
                found += names(page)
                let link = page.headers[.link]?.split(separator: ">").first.map { String($0.dropFirst()) }
                #expect((page.json?["hasMore"] == .bool(true)) == (link != nil))
                path = link
            }
            #expect(found.count == 7 && Set(found).count == 7)
            #expect(try await call(.get, "/v1/cookies?cursor=abc").problem == .invalidParameter)
        }
    }

    // Proves: COK-11.
    @Test(arguments: [
        (#"{"name": "__Host-a", "value": "1", "domain": "h.example"}"#, "prefix"),
        (#"{"name": "a", "value": "1", "domain": "co.uk", "isHostOnly": false}"#, "publicSuffix"),
        (#"{"name": "a", "value": "1\u0001", "domain": "h.example"}"#, "controlCharacter"),
        (#"{"name": "a;b", "value": "1", "domain": "h.example"}"#, "malformed"),
    ])
    func `what can be no cookie is refused with the rule`(cookie: String, reason: String) async throws {
        try await TestServer().test { call async throws in
            let answer = try await call(.post, "/v1/cookies", body: #"{"cookies": [\#(cookie)]}"#)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == "/cookies/0")
            #expect(answer.text.contains("(\(reason))"))
            #expect(names(try await call(.get, "/v1/cookies")) == [])
        }
    }

    // Proves: COK-5.
    @Test func `a file of Netscape goes in and comes out`() async throws {
        try await TestServer().test { call async throws in
            let line = "#HttpOnly_.h.example\tTRUE\t/\tTRUE\t4102444800\ta\t1\n"
            let headers: HTTPFields = [.contentType: "text/plain"]
            let answer = try await call(.post, "/v1/cookies/import", headers: headers, body: line + "nonsense\n")
            #expect(answer.json?["set"]?.integer == 1)
            #expect(answer.json?["rejectedLines"]?[0]?.integer == 2)
            let file = try await call(.get, "/v1/cookies/export")
            #expect(file.headers[.contentType] == "text/plain")
            #expect(file.text.hasPrefix("# Netscape HTTP Cookie File\n"))
            // Lifetimes are cut to 400 days.
            #expect(file.text.contains("#HttpOnly_.h.example\tTRUE\t/\tTRUE\t"))
        }
    }
}
