import Foundation
import HTTPTypes
import TestSupport
import Testing

/// By which rules answers to jobs are stored and used again.
@Suite(.sharedService()) struct CacheRuleTests {
    private func isHit(_ job: [String: Any]) -> Bool? { member(job, "response", "fromCache") }

    /// The requests of two jobs for one URL in one session, and whether the second was a hit.
    private func twice(_ fields: String, status: String = "200 OK", request: String = "") async throws -> (
        requests: Int, isHit: Bool?
    ) {
        let rig = try SharedService.current
        let (play, session) = (rig.stage.play(answer(status, fields, body: "x")), try await rig.makeSession())
        _ = try await rig.fetch(play.url(), request, session: session)
        let second = try await rig.fetch(play.url(), request, session: session)
        return (play.requests.count, isHit(second))
    }

    // A browser's cache, which is one user's.
    // Proves: CCH-8, CCH-10.
    @Test(arguments: [
        ("Cache-Control: max-age=99", "200 OK", true), ("Cache-Control: private, max-age=99", "200 OK", true),
        ("Cache-Control: no-store", "200 OK", false), ("Cache-Control: no-cache", "200 OK", false),
        ("Cache-Control: max-age=0", "200 OK", false), ("Cache-Control: max-age=99, s-maxage=0", "200 OK", true),
        ("Cache-Control: max-age=99\r\nAge: 100", "200 OK", false), ("Expires: 0", "200 OK", false),
        ("Expires: Wed, 09 Jun 2100 10:18:14 GMT", "200 OK", true),
        ("Cache-Control: max-age=99\r\nVary: *", "200 OK", false), ("Cache-Control: max-age=99", "404 No", true),
        ("Cache-Control: max-age=99", "410 Gone", true), ("Cache-Control: max-age=99", "206 Part", false),
    ])
    func `what an answer says of itself decides`(_ fields: String, _ status: String, _ isStored: Bool) async throws {
        let seen = try await twice(fields, status: status)
        #expect(seen.isHit == isStored && seen.requests == (isStored ? 1 : 2))
    }

    // Method, URL and the fields by which the response varies.
    // Proves: CCH-8, CCH-9.
    @Test func `what is asked tells answers apart`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=99\r\nVary: X-Kind", body: "x"))
        let session = try await rig.makeSession()
        func fetch(_ path: String, _ request: String = "") async throws -> Bool? {
            isHit(try await rig.fetch(play.url(path), request, session: session))
        }
        let kinds = ["a", "b"].map { #""headers": [{"name": "X-Kind", "value": "\#($0)"}]"# }
        for (path, request) in [("p?a=1", ""), ("p?a=2", ""), ("p", ""), ("p", kinds[0]), ("p", kinds[1])] {
            #expect(try await fetch(path, request) == false, "\(path) \(request)")
        }
        for (path, request) in [("p?a=1", ""), ("p?a=2", ""), ("p", kinds[0])] {
            #expect(try await fetch(path, request) == true, "\(path) \(request)")
        }
        #expect(try await fetch("p", #""method": "POST", "body": {"text": "x"}"#) == false)
    }

    // The request has a word in it too.
    // Proves: CCH-8.
    @Test(arguments: ["no-cache", "no-store", "max-age=0"])
    func `a request can turn the cache down`(_ directive: String) async throws {
        let seen = try await twice(
            "Cache-Control: max-age=99",
            request: #""headers": [{"name": "Cache-Control", "value": "\#(directive)"}]"#)
        #expect(seen.requests == 2)
    }

    // RFC 9111 §5.2.1.7.
    // Proves: CCH-8, CCH-4.
    @Test func `a job that wants the cache alone gets what is there, or an answer that says so`() async throws {
        let rig = try SharedService.current
        let (play, session) = (
            rig.stage.play(answer("200 OK", "Cache-Control: max-age=99", body: "x")), try await rig.makeSession()
        )
        let only = #""headers": [{"name": "Cache-Control", "value": "only-if-cached"}]"#
        #expect(status(of: try await rig.fetch(play.url(), only, session: session)) == 504)
        #expect(play.requests.isEmpty)
        _ = try await rig.fetch(play.url(), session: session)
        #expect(isHit(try await rig.fetch(play.url(), only, session: session)) == true)
    }

    // Proves: CCH-4.
    @Test func `what the cache does not have is missed at once`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let job = try await rig.service.fetch(play.url(), request: #", "cachePolicy": "returnCacheDataDontLoad""#)
        #expect(errorName(of: job) == "resourceUnavailable" && play.requests.isEmpty)
        #expect(member(job, "attempts", as: [Any].self)?.count == 1)
    }

    // Only HTTP is stored.
    // Proves: CCH-6.
    @Test func `what is no HTTP is not stored`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        for _ in 0..<2 {
            let job = try await rig.fetch(
                "data:,x", configuration: #""cache": {"userInfo": {"a": "b"}}"#, session: session)
            #expect(isHit(job) == false)
        }
        let list = try await rig.service.request(.get, "/v1/cache?session=\(session)").json
        #expect(member(list, "data", as: [Any].self)?.isEmpty == true)
        let only = try await rig.fetch("data:,x", #""cachePolicy": "returnCacheDataDontLoad""#, session: session)
        #expect(errorName(of: only) == "resourceUnavailable" || member(only, "state") == "succeeded", "\(only)")
    }

    // Proves: BEY-24, CCH-18.
    @Test func `answers stored since a time are removed, and older ones stay`() async throws {
        let rig = try SharedService.current
        let (play, session) = (
            rig.stage.play(answer("200 OK", "Cache-Control: max-age=99", body: "x")), try await rig.makeSession()
        )
        _ = try await rig.fetch(play.url("old"), session: session)
        let between = Date.now.ISO8601Format(.init(includingFractionalSeconds: true))
        _ = try await rig.fetch(play.url("new"), session: session)
        let purge = try await rig.service.request(.delete, "/v1/cache?session=\(session)&since=\(between)")
        #expect(member(purge.json, "removed") == 1, "\(purge.text)")
        #expect(isHit(try await rig.fetch(play.url("old"), session: session)) == true)
        #expect(isHit(try await rig.fetch(play.url("new"), session: session)) == false)
    }
}
