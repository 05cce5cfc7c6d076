import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The reuse of stored responses: by the policy of a job, by the fields of the origin, and by whose they are.
@Suite(.sharedService()) struct CacheReuseTests {
    private func isHit(_ job: [String: Any]) -> Bool? { member(job, "response", "fromCache") }

    private func status(of job: [String: Any]) -> String? { member(job, "response", "cacheStatus") }

    private func policy(_ name: String) -> String { #""cachePolicy": "\#(name)""# }

    /// An answer that is stale at once.
    private func stale(_ tag: String, _ fields: String = "X-Any: 1", body: String) -> String {
        answer("200 OK", "Cache-Control: max-age=0", "ETag: \"\(tag)\"", fields, body: body)
    }

    // Proves: CCH-3.
    @Test func `a stored answer of any age is preferred, and what is not stored is loaded`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(stale("a", body: "old"), answer(body: "new"))
        let session = try await rig.makeSession()
        let any = policy("returnCacheDataElseLoad")
        let first = try await rig.fetch(play.url("a"), any, session: session)
        #expect(isHit(first) == false && play.requests.count == 1)
        let explained = try await rig.service.request(
            .get, "/v1/cache/explain?url=\(play.url("a"))&session=\(session)"
        ).json
        #expect(member(explained, "answers", "0", "verdict") == "revalidate", "\(explained)")
        for _ in 0..<2 {
            let job = try await rig.fetch(play.url("a"), any, session: session)
            #expect(isHit(job) == true)
            #expect(try await rig.text(of: job) == "old")
        }
        #expect(play.requests.count == 1)
        let other = try await rig.fetch(play.url("b"), any, session: session)
        #expect(try await rig.text(of: other) == "new" && play.requests.count == 2)
    }

    // RFC 9111 §5.2.1: the fields are for caches on the way too.
    // Proves: CCH-5, BEY-5.
    @Test func `the two further policies go past all caches, or have the origin confirm`() async throws {
        let rig = try SharedService.current
        let fresh = answer("200 OK", "Cache-Control: max-age=99", "ETag: \"a\"", body: "stored")
        let play = rig.stage.play(fresh, fresh, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nX-New: 1\r\n\r\n")
        let session = try await rig.makeSession()
        _ = try await rig.fetch(play.url(), session: session)
        #expect(isHit(try await rig.fetch(play.url(), session: session)) == true)
        let past = try await rig.fetch(play.url(), policy("reloadIgnoringLocalAndRemoteCacheData"), session: session)
        #expect(isHit(past) == false && play.requests.count == 2)
        #expect(play.requests[1].values("cache-control") == ["no-cache"])
        #expect(play.requests[1].values("if-none-match") == [])
        let confirmed = try await rig.fetch(play.url(), policy("reloadRevalidatingCacheData"), session: session)
        try #require(play.requests.count == 3)
        #expect(play.requests[2].values("cache-control") == ["max-age=0"])
        #expect(play.requests[2].values("if-none-match") == ["\"a\""])
        #expect(EndToEndTests.status(of: confirmed) == 200)
        #expect(status(of: confirmed)?.contains("fwd-status=304") == true, "\(confirmed)")
        #expect(try await rig.text(of: confirmed) == "stored")
    }

    // Never by HEAD, and in one request.
    // Proves: CCH-7.
    @Test func `what has not changed is served with its new fields, and what has takes its place`() async throws {
        let rig = try SharedService.current
        let same = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nCache-Control: max-age=0\r\nX-Any: 2\r\n\r\n"
        let play = rig.stage.play(stale("a", body: "first"), same, stale("b", body: "second"))
        let session = try await rig.makeSession()
        func fields(_ job: [String: Any]) -> [String?] {
            let fields = member(job, "response", "headers", as: [[String: String]].self) ?? []
            return ["ETag", "X-Any"].map { name in fields.first { $0["name"] == name }?["value"] }
        }
        _ = try await rig.fetch(play.url(), session: session)
        let unchanged = try await rig.fetch(play.url(), session: session)
        #expect(status(of: unchanged)?.contains("fwd=stale;fwd-status=304") == true, "\(unchanged)")
        #expect(try await rig.text(of: unchanged) == "first")
        #expect(fields(unchanged) == ["\"a\"", "2"])
        let changed = try await rig.fetch(play.url(), session: session)
        #expect(status(of: changed) == "FetchEngine;fwd=stale;ttl=0;stored", "\(changed)")
        #expect(try await rig.text(of: changed) == "second")
        #expect(fields(changed) == ["\"b\"", "1"])
        #expect(play.requests.map { $0.values("if-none-match") } == [[], ["\"a\""], ["\"a\""]])
        #expect(play.requests.allSatisfy { $0.line.hasPrefix("GET ") })
        let again = try await rig.fetch(play.url(), policy("returnCacheDataElseLoad"), session: session)
        #expect(try await rig.text(of: again) == "second" && play.requests.count == 3)
        let list = try await rig.service.request(.get, "/v1/cache?session=\(session)").json
        #expect(member(list, "data", as: [Any].self)?.count == 1)
    }

    // RFC 5861 §4: not where the origin forbids it.
    // Proves: CCH-8.
    @Test(arguments: [
        ("", "stale-if-error=600", true), ("", "must-revalidate, stale-if-error=600", false), ("", "", false),
        ("stale-if-error=600", "", true),
    ])
    func `what is stale is served in place of a failure, where origin or job say so`(
        _ asked: String, _ told: String, _ isServed: Bool
    ) async throws {
        let rig = try SharedService.current
        let directives = ["max-age=0", told].filter { !$0.isEmpty }.joined(separator: ", ")
        let play = rig.stage.play(
            answer("200 OK", "Cache-Control: \(directives)", "ETag: \"a\"", body: "old"),
            answer("503 Busy", body: "busy"))
        let session = try await rig.makeSession()
        let request = asked.isEmpty ? "" : #""headers": {"Cache-Control": "\#(asked)"}"#
        _ = try await rig.fetch(play.url(), session: session)
        let job = try await rig.fetch(play.url(), request, session: session)
        #expect(EndToEndTests.status(of: job) == (isServed ? 200 : 503), "\(job)")
        #expect(try await rig.text(of: job) == (isServed ? "old" : "busy"))
        #expect(status(of: job)?.contains("stale-if-error") == isServed, "\(job)")
        #expect(play.requests.count == 2)
    }

    // RFC 5861 §3: the next one has what came meanwhile.
    // Proves: CCH-8.
    @Test func `what is stale is served while it is confirmed, where the origin says so`() async throws {
        let rig = try SharedService.current
        let fields = ["Cache-Control: max-age=0, stale-while-revalidate=600", "Cache-Control: max-age=600"]
        let play = rig.stage.play(
            answer("200 OK", fields[0], "ETag: \"a\"", body: "old"), answer("200 OK", fields[1], body: "new"))
        let session = try await rig.makeSession()
        _ = try await rig.fetch(play.url(), session: session)
        let stale = try await rig.fetch(play.url(), session: session)
        #expect(isHit(stale) == true)
        #expect(try await rig.text(of: stale) == "old")
        try await until { play.requests.count == 2 }
        var text = ""
        try await until {
            text = try await rig.text(of: try await rig.fetch(play.url(), session: session))
            return text == "new"
        }
        let fresh = try await rig.fetch(play.url(), session: session)
        #expect(isHit(fresh) == true)
        #expect(try await rig.text(of: fresh) == "new")
    }

    // RFC 8246 §2: a reload asks for nothing that cannot have changed.
    // Proves: CCH-8.
    @Test func `what is immutable is not confirmed while it is fresh`() async throws {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("server"),
            directives: ["max-age=600", "max-age=600, immutable", "max-age=0, immutable"].enumerated().map {
                "location = /\($0) { add_header Cache-Control \"\($1)\"; return 200 \"x\"; }"
            })
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"]) { service in
            let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
            let more = #", "configuration": {"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}}"#
            let reload = ", " + policy("reloadRevalidatingCacheData")
            for (number, isHit) in [false, true, false].enumerated() {
                let url = "https://127.0.0.1:\(server.port)/\(number)"
                _ = try await service.fetch(url, more: more)
                let job = try await service.fetch(url, request: reload, more: more)
                #expect(self.isHit(job) == isHit, "\(job)")
                let requests = try await server.requestsByTLS().filter { $0.contains(" GET /\(number) ") }
                #expect(requests.count == (isHit ? 1 : 2))
            }
        }
    }

    // RFC 9111 §3 and §3.5: what a session keeps for one user, and what for many.
    // Proves: CCH-8.
    @Test(arguments: [
        ("max-age=600", "", true, true), ("private, max-age=600", "", true, false),
        ("max-age=0, s-maxage=600", "", false, true), ("max-age=600, s-maxage=0", "", true, false),
        ("max-age=600", "Bearer t", true, false), ("public, max-age=600", "Bearer t", true, true),
        ("max-age=600, must-revalidate", "Bearer t", true, true), ("s-maxage=600", "Bearer t", false, true),
    ])
    func `a session's cache is private, or shared where its tenant wants it`(
        _ control: String, _ authorization: String, _ isReusedInPrivate: Bool, _ isReusedWhenShared: Bool
    ) async throws {
        let rig = try SharedService.current
        let request = authorization.isEmpty ? "" : #""headers": {"Authorization": "\#(authorization)"}"#
        for (configuration, isReused) in [
            ("{}", isReusedInPrivate),
            (#"{"configuration": {"cache": {"audience": "private"}}}"#, isReusedInPrivate),
            (#"{"configuration": {"cache": {"audience": "shared"}}}"#, isReusedWhenShared),
        ] {
            let play = rig.stage.play(answer("200 OK", "Cache-Control: \(control)", body: "x"))
            let session = try await rig.makeSession(configuration)
            for hit in [false, isReused] {
                let job = try await rig.fetch(play.url(), request, session: session)
                #expect(isHit(job) == hit, "\(configuration): \(job)")
            }
        }
    }

    // Proves: CCH-8.
    @Test func `an answer to one who is known is given to nobody else`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=600", body: "x"))
        let session = try await rig.makeSession()
        for (user, hit) in [("a", false), ("a", true), ("b", false), ("a", true), ("", false)] {
            let request = user.isEmpty ? "" : #""headers": {"Authorization": "Bearer \#(user)"}"#
            #expect(isHit(try await rig.fetch(play.url(), request, session: session)) == hit, "\(user)")
        }
    }

    // One server that speaks TLS on every connection but its first, and one at another port.
    // Proves: CCH-9.
    @Test func `scheme and port tell answers apart`() async throws {
        let (authority, count) = (try await TestAuthority(), Progress())
        let leaf = try await authority.issue("server")
        let fields = ["Cache-Control: max-age=99"]
        let plain = answer("200 OK", fields[0], body: "plain")
        let both = try WireOrigin { connection in
            if count.add(1) == 1 {
                while try connection.receiveHead() != nil { try connection.send(plain) }
            } else {
                let wire = try TLSWire(connection, leaf, .tls13)
                while wire.receiveHead() != nil { try wire.send(answer("200 OK", fields[0], body: "TLS")) }
            }
        }
        let other = try WireOrigin(playing: answer("200 OK", fields[0], body: "other"))
        let rules = [both, other].map { "127.0.0.1:\($0.port)" }
        try await ServiceProcess.with(allowing: rules) { service in
            let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
            let more =
                #", "configuration": {"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}, "#
                + #""retry": {"maximumAttempts": 1}}"#
            let urls = [both.url("/a"), both.url("/a").replacing("http:", with: "https:"), other.url("/a")]
            for isStored in [false, true] {
                for (url, text) in zip(urls, ["plain", "TLS", "other"]) {
                    let job = try await service.fetch(url, more: more)
                    #expect(isHit(job) == isStored, "\(job)")
                    let href = try #require(member(job, "body", "href", as: String.self), "\(job)")
                    #expect(try await service.request(.get, href).text == text)
                }
            }
        }
    }

    // Proves: CCH-19, SEC-42.
    @Test func `tenants share no stored answer`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=99", body: "x"))
        let key = try await rig.place.key(tenant: "cache-other")
        for count in 1...2 {
            let tenant = count == 1 ? nil : key
            for hit in [false, true] {
                #expect(isHit(try await rig.service.fetch(play.url(), key: tenant)) == hit)
            }
            #expect(play.requests.count == count)
        }
        let other = rig.service.speaking(with: key)
        #expect(member(try await other.request(.delete, "/v1/cache?all=true").json, "removed") == 1)
        #expect(isHit(try await rig.service.fetch(play.url())) == true, "what the other one removes is its own")
    }
}
