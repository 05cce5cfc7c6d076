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
