import HTTPTypes
import Testing

@testable import FetchEngine

/// The decisions before a request, one case for each rule.
@Suite struct CacheMachineLookupTests {
    private static let validators = "If-None-Match: \"a\""

    private static func answer(
        _ stored: [String], asked: [String] = [], policy: CachePolicy = .useProtocolCachePolicy, after seconds: Int = 0,
        url: String = "http://origin.test/a?b=c", _ configuration: CachingConfiguration = CachingConfiguration()
    ) throws -> String {
        let request = Request(url: try URLRecord(url), headerFields: .init(lines: asked))
        let entry = try CacheEntry.make(
            Response(url: request.url, status: .ok, headerFields: .init(lines: ["ETag: \"a\""] + stored)), to: request)
        var machine = CacheMachine(request, policy: policy, configuration: configuration)
        return machine.lookedUp([entry], now: sendingTime + seconds).summary
    }

    // Proves: CCH-1, CCH-7, URL-4.
    @Test func `nothing stored is fetched, fresh is served, stale is validated`() throws {
        var machine = CacheMachine(try .make())
        #expect(machine.looksUp)
        #expect(machine.lookedUp([], now: sendingTime).summary == "send")
        #expect(machine.status.description == "FetchEngine;fwd=uri-miss")
        #expect(try Self.answer(["Cache-Control: max-age=60"], after: 59) == "serve 200")
        #expect(try Self.answer(["Cache-Control: max-age=60"], after: 60) == "send|\(Self.validators)")
        #expect(try Self.answer([], after: 0) == "send|\(Self.validators)")
    }

    // RFC 9111 §5.2.1, §5.2.2 and §5.4, RFC 8246; the answer a minute old, its lifetime two.
    // Proves: CCH-8.
    @Test(arguments: [
        ("", "", "serve 200"),
        ("no-cache", "", "send|If-None-Match: \"a\""),
        ("no-cache=\"x\"", "", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: no-cache", "send|If-None-Match: \"a\""),
        ("", "Pragma: no-cache", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: max-age=60", "serve 200"),
        ("", "Cache-Control: max-age=59", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: max-age=0", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: min-fresh=60", "serve 200"),
        ("", "Cache-Control: min-fresh=61", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: only-if-cached", "serve 200"),
        ("must-revalidate", "", "serve 200"),
    ])
    func `a fresh answer is used as both sides say`(_ stored: String, _ asked: String, _ expected: String) throws {
        let answer = try Self.answer(
            ["Cache-Control: max-age=120" + (stored.isEmpty ? "" : ", \(stored)")],
            asked: asked.isEmpty ? [] : [asked], after: 60)
        #expect(answer == expected)
    }

    // RFC 9111 §4.2.4, RFC 5861 §3; the answer 120 seconds old, its lifetime 60.
    // Proves: CCH-8.
    @Test(arguments: [
        ("", "", "send|If-None-Match: \"a\""),
        ("", "Cache-Control: max-stale", "serve 200"),
        ("", "Cache-Control: max-stale=60", "serve 200"),
        ("", "Cache-Control: max-stale=59", "send|If-None-Match: \"a\""),
        ("must-revalidate", "Cache-Control: max-stale", "send|If-None-Match: \"a\""),
        ("no-cache", "Cache-Control: max-stale", "send|If-None-Match: \"a\""),
        ("proxy-revalidate", "Cache-Control: max-stale", "serve 200"),
        ("", "Cache-Control: only-if-cached", "respond 504"),
        ("", "Cache-Control: only-if-cached, max-stale=60", "serve 200"),
        ("stale-while-revalidate=60", "", "serve 200 refreshing"),
        ("stale-while-revalidate=59", "", "send|If-None-Match: \"a\""),
        ("stale-while-revalidate=60, must-revalidate", "", "send|If-None-Match: \"a\""),
        (
            "stale-while-revalidate=60", "Cache-Control: max-age=90",
            "send|If-None-Match: \"a\""
        ),
        ("stale-if-error=600", "", "send|If-None-Match: \"a\""),
        ("immutable", "", "send|If-None-Match: \"a\""),
    ])
    func `a stale answer is used as both sides say`(_ stored: String, _ asked: String, _ expected: String) throws {
        let answer = try Self.answer(
            ["Cache-Control: max-age=60" + (stored.isEmpty ? "" : ", \(stored)")],
            asked: asked.isEmpty ? [] : [asked], after: 120)
        #expect(answer == expected)
    }

    // Shared caches (RFC 9111 §5.2.2.8, §5.2.2.10).
    // Proves: CCH-8.
    @Test(arguments: ["proxy-revalidate", "s-maxage=60"])
    func `a shared cache does not use a stale answer with`(_ directive: String) throws {
        let answer = try Self.answer(
            ["Cache-Control: max-age=60, \(directive)"], asked: ["Cache-Control: max-stale"], after: 120, .shared)
        #expect(answer == "send|If-None-Match: \"a\"")
    }

    // RFC 8246 §2 and §3.
    // Proves: CCH-8.
    @Test func `what is immutable is not confirmed while it is fresh and came over TLS`() throws {
        let stored = ["Cache-Control: max-age=60, immutable"]
        for asked in [[], ["Cache-Control: max-age=0"]] {
            let policy = asked.isEmpty ? CachePolicy.reloadRevalidatingCacheData : .useProtocolCachePolicy
            let secure = "https://origin.test/"
            #expect(try Self.answer(stored, asked: asked, policy: policy, after: 59, url: secure) == "serve 200")
            #expect(try Self.answer(stored, asked: asked, policy: policy, after: 60, url: secure).hasPrefix("send|"))
            #expect(try Self.answer(stored, asked: asked, policy: policy, after: 59).hasPrefix("send|"))
        }
        let forced = try Self.answer(
            stored, asked: ["Cache-Control: no-cache"], after: 1, url: "https://origin.test/")
        #expect(forced.hasPrefix("send|"))
    }

    // Proves: CCH-2, CCH-3, CCH-4, CCH-5, BEY-5, FN-27.
    @Test(arguments: [
        (CachePolicy.useProtocolCachePolicy, "serve 200", "send|If-None-Match: \"a\"", "send"),
        (.returnCacheDataElseLoad, "serve 200", "serve 200", "send"),
        (.returnCacheDataDontLoad, "serve 200", "serve 200", "fail resourceUnavailable"),
        (
            .reloadRevalidatingCacheData, "send|Cache-Control: max-age=0|If-None-Match: \"a\"",
            "send|Cache-Control: max-age=0|If-None-Match: \"a\"", "send|Cache-Control: max-age=0"
        ),
    ])
    func `each policy, with something fresh, something stale and nothing`(
        _ policy: CachePolicy, _ fresh: String, _ stale: String, _ nothing: String
    ) throws {
        #expect(try Self.answer(["Cache-Control: max-age=60"], policy: policy, after: 30) == fresh)
        #expect(try Self.answer(["Cache-Control: max-age=60, no-cache"], policy: policy, after: 90) == stale)
        var machine = CacheMachine(try .make(), policy: policy)
        #expect(machine.lookedUp([], now: sendingTime).summary == nothing)
    }

    // Proves: CCH-2, BEY-5.
    @Test func `the reloading policies do not look, and one tells caches on the way`() throws {
        var local = CacheMachine(try .make(), policy: .reloadIgnoringLocalCacheData)
        #expect(!local.looksUp)
        #expect(local.start().summary == "send")
        var all = CacheMachine(try .make(), policy: .reloadIgnoringLocalAndRemoteCacheData)
        #expect(!all.looksUp)
        #expect(all.start().summary == "send|Cache-Control: no-cache|Pragma: no-cache")
        let own = try Request.make(.get, "http://origin.test/", "Cache-Control: max-age=5")
        var kept = CacheMachine(own, policy: .reloadIgnoringLocalAndRemoteCacheData)
        #expect(kept.start().summary == "send")
    }

    // RFC 9111 §5.2.1.7.
    // Proves: CCH-8.
    @Test func `only-if-cached with nothing stored is 504`() throws {
        var machine = CacheMachine(try .make(.get, "http://origin.test/", "Cache-Control: only-if-cached"))
        #expect(machine.lookedUp([], now: sendingTime).summary == "respond 504")
    }

    // RFC 9111 §4 and §4.1.
    // Proves: CCH-8.
    @Test func `of several answers the latest that the request selects is used`() throws {
        func entry(_ language: String, _ date: String, _ tag: String) throws -> CacheEntry {
            try .make(
                .make(200, "Vary: Accept-Language", "Cache-Control: max-age=60", "Date: \(date)", "ETag: \(tag)"),
                to: .make(.get, "http://origin.test/a?b=c", "Accept-Language: \(language)"))
        }
        let entries = [
            try entry("en", Dates.aMinuteAgo, "1"), try entry("de", Dates.now, "2"), try entry("en", Dates.now, "3"),
        ]
        var machine = CacheMachine(try .make(.get, "http://origin.test/a?b=c", "Accept-Language: en"))
        guard case .serve(let chosen, _, false) = machine.lookedUp(entries, now: sendingTime) else {
            Issue.record("not served")
            return
        }
        #expect(chosen.response.headerFields[.eTag] == "3")
        var other = CacheMachine(try .make(.get, "http://origin.test/a?b=c", "Accept-Language: fr"))
        #expect(other.lookedUp(entries, now: sendingTime).summary == "send")
        #expect(other.status.description == "FetchEngine;fwd=vary-miss")
    }

    // Ranges and the caller's own conditions pass by.
    // Proves: CCH-8.
    @Test(arguments: ["Range: bytes=0-1", "If-None-Match: \"x\"", "If-Modified-Since: x", "If-Match: *", "If-Range: x"])
    func `a request for a part or with conditions goes to the origin as it is`(_ line: String) throws {
        var machine = CacheMachine(try .make(.get, "http://origin.test/", line))
        #expect(!machine.looksUp)
        #expect(machine.start().summary == "send")
        #expect(machine.status.description == "FetchEngine;fwd=bypass")
    }

    // Proves: CCH-9.
    @Test func `HEAD uses what GET stored and other methods use nothing`() throws {
        let entry = try CacheEntry.make(.make(200, "Cache-Control: max-age=60"))
        var head = CacheMachine(try .make(.head))
        #expect(head.lookedUp([entry], now: sendingTime).summary == "serve 200")
        let post = CacheMachine(try .make(.post))
        #expect(!post.looksUp)
        #expect(post.status.description == "FetchEngine;fwd=method")
    }

    // RFC 9111 §4 and §5.1, RFC 9211.
    // Proves: CCH-8, CCH-20.
    @Test func `a served answer has its age and says that it was a hit`() throws {
        let entry = try CacheEntry.make(.make(200, "Cache-Control: max-age=60", "Age: 10", "Age: 3"))
        var machine = CacheMachine(try .make(.get, "http://u:p@origin.test/a?b=c#f"))
        guard case .serve(_, let response, _) = machine.lookedUp([entry], now: sendingTime + 20) else {
            Issue.record("not served")
            return
        }
        #expect(response.headerFields[values: .age] == ["30"])
        #expect(response.url.description == "http://origin.test/a?b=c#f")
        #expect(machine.status.description == "FetchEngine;hit;ttl=30")
    }
}
